//! Enumerations whose variants have a word each, for files and the command line.

macro_rules! choice {
    ($(#[$attribute:meta])+ $type:ident { $($(#[$of_variant:meta])+ $variant:ident = $word:literal,)* }) => {
        $(#[$attribute])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type {
            $($(#[$of_variant])+ $variant,)*
        }

        impl $type {
            /// All variants, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
            /// The word for each, in the same order.
            pub const WORDS: &[&str] = &[$($word,)*];

            /// The word for the variant.
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }
    };
}

pub(crate) use choice;
