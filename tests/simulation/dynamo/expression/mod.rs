//! Expressions: conditions, key conditions, updates and projections, of top-level attributes. Conditions may also compare
//! an entry of a map.

mod condition;
mod key_condition;
mod placeholders;
mod tokens;
mod update;

pub use condition::{Comparator, Condition, Operand};
pub use key_condition::KeyCondition;
pub use placeholders::Placeholders;
pub use update::Update;

use super::error::ServiceError;
use tokens::Tokens;

/// Returns the attributes of a projection.
pub fn projection(text: &str, placeholders: &mut Placeholders) -> Result<Vec<String>, ServiceError> {
    let mut tokens = Tokens::of("ProjectionExpression", text)?;
    let mut names = vec![tokens.path(placeholders)?];
    while tokens.takes(",") {
        names.push(tokens.path(placeholders)?);
    }
    tokens.end()?;
    Ok(names)
}
