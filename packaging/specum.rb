class Specum < Formula
  desc "Runs a written plan to its end with coding agents, and checks each task itself"
  homepage "https://github.com/specum/specum"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@DOWNLOADS@/specum-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256:aarch64-apple-darwin@"
    end
    on_intel do
      url "@DOWNLOADS@/specum-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256:x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@DOWNLOADS@/specum-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@DOWNLOADS@/specum-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "specum", "specum-net"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/specum.bash" => "specum"
    fish_completion.install "completions/specum.fish"
    zsh_completion.install "completions/specum.zsh" => "_specum"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/specum --version")
    assert_match version.to_s, shell_output("#{bin}/specum-net --version")
  end
end
