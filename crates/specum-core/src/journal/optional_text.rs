//! A text that may be missing, which is written as an empty one.

use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(
    text: &Option<String>,
    target: S,
) -> Result<S::Ok, S::Error> {
    target.serialize_str(text.as_deref().unwrap_or_default())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<String>, D::Error> {
    Ok(Some(String::deserialize(source)?).filter(|text| !text.is_empty()))
}
