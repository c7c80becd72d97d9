//! How large DynamoDB says an item is.

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;

/// What an item may take, in bytes: the 400 KB of
/// [Constraints](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
pub const MAX_ITEM_BYTES: usize = 400 * 1024;

/// What the item of a record may take, in bytes: [`MAX_ITEM_BYTES`] less what `epoch` and `expires_at` take, which a
/// call that is resumed or released from a hold gives to items that are there.
pub const MAX_RECORD_BYTES: usize = MAX_ITEM_BYTES - 40;

/// The size of an item in bytes, as in
/// [Item sizes and formats](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html):
/// names and values. DynamoDB says of a number only what it takes approximately; here it is a byte or two too large
/// rather than too small.
pub fn item_size(item: &Item) -> usize {
    item.iter().map(|(name, attribute)| name.len() + attribute_size(attribute)).sum()
}

/// Of each list and map, and of each element or entry in it.
const CONTAINER_BYTES: usize = 3;
const ELEMENT_BYTES: usize = 1;

fn attribute_size(attribute: &AttributeValue) -> usize {
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
        // A bool or null; of what the SDK does not know, nothing is sent.
        _ => 1,
    }
}

/// A byte for two significant digits, one more, one for a sign; and one, for the digits before the point and those
/// behind it are paired apart.
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
    fn names_values_and_what_holds_them_count() {
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
    fn a_number_takes_a_byte_for_two_digits() {
        for (number, size) in [("0", 1), ("7", 2), ("700", 2), ("-12", 4), ("1.5", 3), ("1.5E40", 3), ("0.001", 2)] {
            assert_eq!(number_size(number), size, "{number}");
        }
        assert_eq!(number_size(&"1".repeat(38)), 21);
    }
}
