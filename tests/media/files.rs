//! Small valid files: an image of one pixel, silent audio, an empty page.

/// A PNG of one transparent pixel.
pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";

/// A GIF of one pixel.
pub const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// The head of a photo of an iPhone.
pub const HEIC: &[u8] = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";

/// Two samples of silence.
pub const WAV: &[u8] =
    b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x04\0\0\0\0\0\0\0";

/// The head of a video.
pub const MP4: &[u8] = b"\0\0\0\x18ftypisom\0\0\x02\0isommp41\0\0\0\x08mdat";

/// An empty page.
pub const PDF: &[u8] =
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
    3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF";

/// A PNG of `bytes` bytes, with zeros after its end.
pub fn png_of(bytes: usize) -> Vec<u8> {
    let mut png = PNG.to_vec();
    png.resize(bytes, 0);
    png
}

/// A PDF of `bytes` bytes.
pub fn pdf_of(bytes: usize) -> Vec<u8> {
    let mut pdf = PDF.to_vec();
    pdf.resize(bytes, b'\n');
    pdf
}
