//! Checksums: `SHA256SUMS`, which `sha256sum --check` reads.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The SHA-256 of bytes, in hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

/// Bytes in hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Writes the sums of files that lie in the folder.
///
/// # Errors
/// When a file cannot be read, or the sums not be written.
pub fn write(files: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    let mut text = String::new();
    for file in files {
        let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        text += &format!("{}  {name}\n", sha256(&content));
    }
    let path = folder.join("SHA256SUMS");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
