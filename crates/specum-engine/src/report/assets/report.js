(()=>{"use strict";
const $=(s,r=document)=>r.querySelector(s),$$=(s,r=document)=>[...r.querySelectorAll(s)];
const root=document.documentElement,theme=$("#theme"),tools=$("#tools");
// Theme: the system's, until somebody chooses.
let kept=null;try{kept=localStorage.getItem("specum-theme")}catch{}
if(kept==="dark"||kept==="light")root.dataset.theme=kept;
theme.hidden=false;
theme.addEventListener("click",()=>{
  const dark=root.dataset.theme?root.dataset.theme==="dark":matchMedia("(prefers-color-scheme:dark)").matches;
  root.dataset.theme=dark?"light":"dark";try{localStorage.setItem("specum-theme",root.dataset.theme)}catch{}
});
const tasks=$$("details.task");
// Filter by words and by kind.
if(tools){
  tools.hidden=false;
  const box=$("#filter"),count=$("#count"),groups=$$(".group").map(g=>[g,$$("details.task",g)]);let kind="all";
  const sift=()=>{
    const words=box.value.toLowerCase().split(/\s+/).filter(Boolean);let shown=0;
    for(const t of tasks){const hit=(kind==="all"||t.dataset.kinds.split(" ").includes(kind))&&words.every(w=>t.dataset.find.includes(w));t.hidden=!hit;shown+=hit}
    for(const[g,own]of groups)g.hidden=own.every(t=>t.hidden);
    count.textContent=shown===tasks.length?"":`${shown} of ${tasks.length}`;
  };
  box.addEventListener("input",sift);
  for(const c of $$(".chip"))c.addEventListener("click",()=>{kind=c.dataset.kind;for(const o of $$(".chip"))o.setAttribute("aria-pressed",o===c);sift()});
  addEventListener("keydown",e=>{if(e.key==="/"&&document.activeElement!==box){e.preventDefault();box.focus()}if(e.key==="Escape"&&document.activeElement===box){box.value="";sift();box.blur()}});
}
// A link to a task opens it.
const open=()=>{const t=document.getElementById(location.hash.slice(1));if(t&&t.matches("details.task")){t.hidden=false;for(let g=t.parentElement;g;g=g.parentElement)g.hidden=false;t.open=true;t.scrollIntoView();$("summary",t).focus({preventScroll:true})}};
addEventListener("hashchange",open);
// The same link twice changes no address.
addEventListener("click",e=>{const a=e.target.closest("a");if(a&&a.hash&&a.hash===location.hash)open()});
// Lines and colours of a diff, when a file is first looked at. Nodes are made, nothing is parsed.
const token=/(\/\/.*|#(?![0-9a-fA-F]{3,6}\b).*|--\s.*|\/\*.*?\*\/)|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|`(?:\\.|[^`\\])*`?)|\b(\d[\w.]*)\b|\b(as|async|await|break|case|class|const|continue|def|defer|do|elif|else|enum|export|extends|extern|fn|for|from|func|function|go|if|impl|import|in|interface|let|loop|match|mod|mut|namespace|new|package|pass|private|pub|public|raise|return|self|static|struct|super|switch|this|throw|trait|try|type|unsafe|use|var|void|where|while|with|yield|True|False|None|true|false|null|nil)\b/g;
const part=(line,text,kind)=>{const s=document.createElement("span");s.className="tk-"+kind;s.textContent=text;line.append(s)};
const colour=(line,text)=>{
  let at=1,m;line.append(text.slice(0,1));token.lastIndex=1;
  while((m=token.exec(text))&&m[0]){if(m.index>at)line.append(text.slice(at,m.index));part(line,m[0],m[1]?"c":m[2]?"s":m[3]?"n":"k");at=m.index+m[0].length}
  line.append(text.slice(at));
};
const paint=file=>{
  const diff=$(".diff",file);if(!diff||diff.classList.contains("done"))return;
  const plain=/\.(md|txt|toml|lock|json|csv)$/.test(file.dataset.path),lines=diff.textContent.split("\n");
  if(lines[lines.length-1]==="")lines.pop();
  diff.textContent="";diff.classList.add("done");
  for(const text of lines){
    const line=document.createElement("span"),c=text[0];line.className="l"+(c==="+"?" a":c==="-"?" d":c==="@"||c==="\\"?" h":"");
    if(plain||text.length>500||c==="@")line.textContent=text||" ";else colour(line,text||" ");
    diff.append(line);
  }
};
const all=t=>{if(t.open)for(const f of $$(".file[open]",t))paint(f)};
for(const t of tasks){t.addEventListener("toggle",()=>all(t));for(const f of $$(".file",t))f.addEventListener("toggle",()=>f.open&&paint(f))}
open();tasks.forEach(all);
})();
