//! The size of an item, as DynamoDB counts it.

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;

/// The maximum size of an item in bytes: the 400 KB of
/// [Constraints](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
const MAX_ITEM_BYTES: usize = 400 * 1024;

/// The maximum size of a new record in bytes. Leaves room for `epoch` and `expires_at`, which a resume or the release
/// of a hold adds to existing items.
pub(super) const MAX_RECORD_BYTES: usize = MAX_ITEM_BYTES - 40;

/// Returns the size of an item in bytes, as DynamoDB counts its names and values in [Item sizes and
/// formats](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
///
/// An item takes 400 KB at most, and a write takes one unit for each KB. DynamoDB documents the size of a number only
/// approximately, so the result may be a byte or two too large for each number, never too small.
pub fn item_size(item: &Item) -> usize {
    item.iter().map(|(name, attribute)| name.len() + attribute_size(attribute)).sum()
}

/// The overhead of a list or map, and of each element in it.
const CONTAINER_BYTES: usize = 3;
const ELEMENT_BYTES: usize = 1;

pub(super) fn attribute_size(attribute: &AttributeValue) -> usize {
    match attribute {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number_size(number),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(|number| number_size(number)).sum(),
        AttributeValue::Bs(binaries) => binaries.iter().map(|bytes| bytes.as_ref().len()).sum(),
        AttributeValue::L(items) => {
            CONTAINER_BYTES + items.iter().map(|item| ELEMENT_BYTES + attribute_size(item)).sum::<usize>()
        }
        AttributeValue::M(entries) => {
            let entry = |(key, item): (&String, _)| ELEMENT_BYTES + key.len() + attribute_size(item);
            CONTAINER_BYTES + entries.iter().map(entry).sum::<usize>()
        }
        // A bool or null. The SDK never sends an unknown type.
        _ => 1,
    }
}

/// One byte for each two significant digits, one more for the number, one for a minus sign, and one because the digits
/// before and after the point are paired separately.
fn number_size(number: &str) -> usize {
    let mantissa = number.split(['e', 'E']).next().unwrap_or(number);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_matches('0').len();
    if significant == 0 { 1 } else { significant / 2 + 2 + usize::from(number.starts_with('-')) }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;

    use super::*;

    #[test]
    fn size_counts_names_values_and_overhead() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let item = Item::from([
            ("id".to_owned(), text("perché")),
            ("none".to_owned(), AttributeValue::Null(true)),
            ("set".to_owned(), AttributeValue::Ss(vec!["ab".to_owned(), "c".to_owned()])),
            ("blob".to_owned(), AttributeValue::B(Blob::new([1, 2, 3]))),
            ("list".to_owned(), AttributeValue::L(vec![text("a"), AttributeValue::Bool(true)])),
            ("map".to_owned(), AttributeValue::M(Item::from([("key".to_owned(), text("ab"))]))),
        ]);
        assert_eq!(item_size(&item), (2 + 7) + (4 + 1) + (3 + 3) + (4 + 3) + (4 + 3 + 2 + 2) + (3 + 3 + 1 + 3 + 2));
    }

    #[test]
    fn number_takes_one_byte_per_two_digits() {
        for (number, size) in [("0", 1), ("7", 2), ("700", 2), ("-12", 4), ("1.5", 3), ("1.5E40", 3), ("0.001", 2)] {
            assert_eq!(number_size(number), size, "{number}");
        }
        assert_eq!(number_size(&"1".repeat(38)), 21);
    }
}
