//! The messages of Amazon Bedrock's
//! [Converse](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html), as JSON on the wire.

mod blocks;
pub(crate) mod formats;
mod read;
pub(crate) mod wire;
mod write;

pub use read::import_converse;
pub use write::export_converse;
