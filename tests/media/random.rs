//! Random attachments: Bedrock accepts the request, and each attachment is sent or replaced under its name.

use proptest::prelude::*;
use verbale::Content;
use verbale::message::{Media, MediaKind, Source};

use super::files::{GIF, HEIC, MP4, PDF, PNG, WAV};
use super::{CLAUDE, NOVA, asked_of};

#[derive(Debug, Clone)]
struct Attached {
    kind: MediaKind,
    source: Source,
    mime_type: Option<String>,
}

impl Attached {
    fn named(self, name: String) -> Content {
        let media = Media::new(self.kind, self.source).with_label(name);
        self.mime_type.into_iter().fold(media, Media::with_mime_type).into()
    }
}

fn attached() -> impl Strategy<Value = Attached> {
    let kinds = vec![MediaKind::Image, MediaKind::Audio, MediaKind::Video, MediaKind::Document];
    let bytes = prop_oneof![
        4 => prop::sample::select(vec![PNG, GIF, HEIC, WAV, MP4, PDF, b"", b"a,b"].into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()),
        2 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    let source = prop_oneof![
        6 => bytes.prop_map(|bytes| Source::Bytes(bytes.into())),
        1 => prop::sample::select(vec!["https://example.com/a", "s3://b/k", "no url", ""]).prop_map(|url| Source::Url(url.into())),
        1 => any::<String>().prop_map(|id| Source::ContentId(id.into())),
    ];
    let types = ["image/png", "image/jpeg", "video/mp4", "application/pdf", "text/csv", "audio/wav", "IMAGE/GIF; q=1"];
    let mime_type =
        prop_oneof![4 => prop::sample::select(types.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
    (prop::sample::select(kinds), source, prop::option::of(mime_type)).prop_map(|(kind, source, mime_type)| Attached {
        kind,
        source,
        mime_type,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_attachments_make_a_valid_request_and_keep_their_names(all in prop::collection::vec(attached(), 1..40), nova in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let count = all.len();
        let named = all.into_iter().enumerate().map(|(n, attached)| attached.named(format!("number {n} of them")));
        let (content, _) = runtime.block_on(asked_of(if nova { NOVA } else { CLAUDE }, named));
        let blocks = content.as_array().unwrap();
        let told: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        for n in 0..count {
            let name = format!("number {n} of them");
            let is_named = told.iter().any(|text| text.contains(&name))
                || blocks.iter().any(|block| block["document"]["name"] == name.as_str());
            prop_assert!(is_named, "{name} in {content}");
        }
        let given = blocks.iter().filter(|block| block.get("text").is_none()).count();
        let not_given = told.iter().filter(|text| text.ends_with(": not available to the model]")).count();
        prop_assert_eq!(given + not_given, count);
    }
}
