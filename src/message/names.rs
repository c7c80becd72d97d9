//! [`names!`]: the names of an enum in records.

/// Implements `ALL`, `as_str` and `Display` for an enum without fields: `names!(Enum { Variant: "name", … })`.
macro_rules! names {
    ($enum:ident { $($variant:ident: $name:literal),* $(,)? }) => {
        impl $enum {
            /// All values, in the order of records.
            #[allow(dead_code, reason = "not all enums are listed or read by name")]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in records.
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }

            /// Returns the value with this name in records, if there is one.
            #[allow(dead_code, reason = "not all enums are listed or read by name")]
            pub(crate) fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == name)
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

pub(super) use names;
