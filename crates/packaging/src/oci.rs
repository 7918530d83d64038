//! An image as a tar archive of an OCI image layout (image-spec 1.1): one layer, its configuration,
//! a manifest and an index. `podman load`, `skopeo` and `docker load` (25 and later) read it.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use crate::archive::{File, gzip, tar};
use crate::elf::Needs;
use crate::parts::Package;
use crate::product::Product;
use crate::sums::sha256;

/// An image of the files, with the libraries that a program needs that is not static.
///
/// # Errors
/// When a library is not found.
pub fn write(
    package: &Package,
    files: &[File],
    needs: &Needs,
    product: &Product<'_>,
) -> Result<Vec<u8>> {
    let mut layer = files.to_vec();
    for (at, path) in needs.found()? {
        let at = at.to_string_lossy();
        layer.push(File::program(at.trim_start_matches('/'), fs::read(path)?));
    }
    layer.push(File::folder("work", 0o1777));
    layer.push(File::folder("tmp", 0o1777));
    let layer = tar(&layer, product.time)?;
    let config = json!({
        "architecture": needs.machine.oci,
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/plumbline"],
            "WorkingDir": "/work",
            "Labels": labels(package),
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
        "history": [{"created_by": "cargo xtask dist"}],
    });
    let packed = Blob::of(gzip(&layer, product.effort)?);
    let config = Blob::of(serde_json::to_vec(&config)?);
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.descriptor("application/vnd.oci.image.config.v1+json"),
        "layers": [packed.descriptor("application/vnd.oci.image.layer.v1.tar+gzip")],
        "annotations": labels(package),
    });
    let manifest = Blob::of(serde_json::to_vec(&manifest)?);
    let mut of_index = manifest.descriptor(MANIFEST);
    of_index["platform"] = json!({"architecture": needs.machine.oci, "os": "linux"});
    of_index["annotations"] = json!({"org.opencontainers.image.ref.name": package.version});
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [of_index],
    });
    let layout = serde_json::to_vec(&json!({"imageLayoutVersion": "1.0.0"}))?;
    tar(
        &[
            File::plain("oci-layout", layout),
            File::plain("index.json", serde_json::to_vec(&index)?),
            manifest.file(),
            config.file(),
            packed.file(),
        ],
        product.time,
    )
}

/// A part of the layout, which is called by its digest.
struct Blob {
    digest: String,
    content: Vec<u8>,
}

impl Blob {
    fn of(content: Vec<u8>) -> Blob {
        Blob { digest: digest(&content), content }
    }

    fn descriptor(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": self.digest, "size": self.content.len()})
    }

    fn file(self) -> File {
        File::plain(format!("blobs/{}", self.digest.replace(':', "/")), self.content)
    }
}

fn labels(package: &Package) -> Value {
    json!({
        "org.opencontainers.image.title": package.name,
        "org.opencontainers.image.version": package.version,
        "org.opencontainers.image.description": package.description,
        "org.opencontainers.image.licenses": package.license,
    })
}

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", sha256(content))
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
