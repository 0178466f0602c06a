//! `find_in` on directories with the layouts of a toolkit and of pip's packages.

use cuda_toolkit::{Origin, Part, Platform, find_for, find_in};
use std::fs;
use std::path::{Path, PathBuf};

/// A directory that is removed when the test ends.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str, files: &[&str]) -> Directory {
        let path = std::env::temp_dir().join(format!("cuda_toolkit-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        for file in files {
            let file = path.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        Directory(path)
    }

    fn root(&self) -> (PathBuf, Origin) {
        (self.0.clone(), Origin::Caller)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn path_in(directory: &Directory, found: Option<&cuda_toolkit::Found>) -> Option<String> {
    let path = found?.path.strip_prefix(&directory.0).ok()?;
    Some(path.to_str().unwrap().to_owned())
}

const TOOLKIT: [&str; 4] = [
    "nvvm/lib64/libnvvm.so",
    "nvvm/lib64/libnvvm.so.4",
    "nvvm/libdevice/libdevice.10.bc",
    "bin/ptxas",
];

#[test]
fn toolkit_layout() {
    let directory = Directory::new("toolkit", &TOOLKIT);
    let found = find_in(&[directory.root()]);
    assert_eq!(
        path_in(&directory, found.libnvvm.as_ref()).unwrap(),
        "nvvm/lib64/libnvvm.so"
    );
    assert_eq!(
        path_in(&directory, found.libdevice.as_ref()).unwrap(),
        "nvvm/libdevice/libdevice.10.bc"
    );
    assert_eq!(
        path_in(&directory, found.ptxas.as_ref()).unwrap(),
        "bin/ptxas"
    );
    assert_eq!(found.missing().count(), 0);
}

/// Paths of libnvvm, libdevice and ptxas as each platform's toolkits and packages have them.
#[test]
fn layouts_of_platforms() {
    let unix: [(&str, [&str; 3]); 4] = [
        (
            "toolkit of an Arm server or a Jetson board",
            [
                "nvvm/lib64/libnvvm.so.4",
                "nvvm/libdevice/libdevice.10.bc",
                "bin/ptxas",
            ],
        ),
        (
            "conda",
            [
                "nvvm/lib64/libnvvm.so.4.0.0",
                "nvvm/libdevice/libdevice.10.bc",
                "bin/ptxas",
            ],
        ),
        (
            "pip for CUDA 13, x86-64 and Arm",
            [
                "nvidia/cu13/lib/libnvvm.so.4",
                "nvidia/cu13/nvvm/libdevice/libdevice.10.bc",
                "nvidia/cu13/bin/ptxas",
            ],
        ),
        (
            "pip for CUDA 12",
            [
                "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so",
                "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
                "nvidia/cuda_nvcc/bin/ptxas",
            ],
        ),
    ];
    let windows: [(&str, [&str; 3]); 4] = [
        (
            "CUDA 12",
            [
                "nvvm/bin/nvvm64_40_0.dll",
                "nvvm/libdevice/libdevice.10.bc",
                "bin/ptxas.exe",
            ],
        ),
        (
            "CUDA 13",
            [
                "nvvm/bin/x64/nvvm64_40_0.dll",
                "nvvm/libdevice/libdevice.10.bc",
                "bin/ptxas.exe",
            ],
        ),
        (
            "pip for CUDA 13",
            [
                "nvidia/cu13/bin/x86_64/nvvm64_40_0.dll",
                "nvidia/cu13/nvvm/libdevice/libdevice.10.bc",
                "nvidia/cu13/bin/ptxas.exe",
            ],
        ),
        (
            "pip for CUDA 12",
            [
                "nvidia/cuda_nvcc/nvvm/bin/nvvm64_40_0.dll",
                "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
                "nvidia/cuda_nvcc/bin/ptxas.exe",
            ],
        ),
    ];
    let other = |platform| match platform {
        Platform::Unix => Platform::Windows,
        Platform::Windows => Platform::Unix,
    };
    let all = [(Platform::Unix, unix), (Platform::Windows, windows)];
    for (platform, layouts) in all {
        for (number, (name, files)) in layouts.into_iter().enumerate() {
            let directory = Directory::new(&format!("{platform:?}-{number}"), &files);
            let found = find_for(platform, &[directory.root()]);
            let paths = Part::ALL.map(|part| path_in(&directory, found.get(part)));
            assert_eq!(paths, files.map(|file| Some(file.to_owned())), "{name}");
            // Libraries and programs of another platform are not used.
            let found = find_for(other(platform), &[directory.root()]);
            let missing: Vec<Part> = found.missing().collect();
            assert_eq!(missing, [Part::Libnvvm, Part::Ptxas], "{name}");
        }
    }
}

#[test]
fn highest_version_of_a_dll() {
    let directory = Directory::new(
        "dlls",
        &[
            "nvvm/bin/nvvm64_33_0.dll",
            "nvvm/bin/nvvm64_40_0.dll",
            "nvvm/bin/nvvm64_9_9.dll",
            "nvvm/bin/nvvm64_50_0.dll.old",
        ],
    );
    let found = find_for(Platform::Windows, &[directory.root()]);
    assert_eq!(
        path_in(&directory, found.libnvvm.as_ref()).unwrap(),
        "nvvm/bin/nvvm64_40_0.dll"
    );
}

#[test]
fn pip_layout() {
    let directory = Directory::new(
        "pip",
        &[
            "nvidia/cu13/lib/libnvvm.so.4",
            "nvidia/cu13/nvvm/libdevice/libdevice.10.bc",
            "nvidia/cu13/bin/ptxas",
        ],
    );
    let found = find_in(&[directory.root()]);
    assert_eq!(
        path_in(&directory, found.libnvvm.as_ref()).unwrap(),
        "nvidia/cu13/lib/libnvvm.so.4"
    );
    assert_eq!(
        path_in(&directory, found.ptxas.as_ref()).unwrap(),
        "nvidia/cu13/bin/ptxas"
    );
    assert_eq!(found.missing().count(), 0);
}

#[test]
fn pip_layout_newest_first() {
    let directory = Directory::new(
        "pip-two",
        &[
            "nvidia/cuda_nvcc/bin/ptxas",
            "nvidia/cu9/bin/ptxas",
            "nvidia/cu13/bin/ptxas",
        ],
    );
    let found = find_in(&[directory.root()]);
    assert_eq!(
        path_in(&directory, found.ptxas.as_ref()).unwrap(),
        "nvidia/cu13/bin/ptxas"
    );
}

#[test]
fn highest_version_of_a_library() {
    let directory = Directory::new(
        "versions",
        &[
            "nvvm/lib64/libnvvm.so.9.1",
            "nvvm/lib64/libnvvm.so.10.0.2",
            "nvvm/lib64/libnvvm.so.4",
            "nvvm/lib64/libnvvm.so.backup",
        ],
    );
    let found = find_in(&[directory.root()]);
    assert_eq!(
        path_in(&directory, found.libnvvm.as_ref()).unwrap(),
        "nvvm/lib64/libnvvm.so.10.0.2"
    );
}

#[test]
fn a_directory_that_lacks_a_part_does_not_end_the_search() {
    let first = Directory::new("lacking", &["bin/ptxas"]);
    let second = Directory::new("complete", &TOOLKIT);
    let found = find_in(&[
        (first.0.clone(), Origin::Environment("CUDA_HOME")),
        second.root(),
    ]);
    let ptxas = found.ptxas.as_ref().unwrap();
    assert_eq!(ptxas.root, first.0);
    assert_eq!(ptxas.origin, Origin::Environment("CUDA_HOME"));
    assert_eq!(found.libnvvm.as_ref().unwrap().root, second.0);
    assert_eq!(found.searched, [first.0.clone(), second.0.clone()]);
}

#[test]
fn variables_that_name_nothing_of_a_toolkit_are_warned_of() {
    let missing = Path::new("/nonexistent/cuda").to_path_buf();
    let (empty, good) = (
        Directory::new("without", &["readme"]),
        Directory::new("good", &TOOLKIT),
    );
    let found = find_in(&[
        (missing, Origin::Environment("CUDA_HOME")),
        (empty.0.clone(), Origin::Environment("CUDA_PATH")),
        good.root(),
    ]);
    assert!(found.libnvvm.is_some());
    let expected = [
        "the environment variable `CUDA_HOME` names `/nonexistent/cuda`, which is not a directory: it \
         is ignored"
            .to_owned(),
        format!(
            "the environment variable `CUDA_PATH` names `{}`, which contains neither libnvvm nor \
             libdevice nor ptxas: it is ignored",
            empty.0.display()
        ),
    ];
    assert_eq!(found.warnings().collect::<Vec<_>>(), expected);
    let found = find_in(&[(good.0.clone(), Origin::Environment("CUDA_HOME"))]);
    assert_eq!(found.warnings().count(), 0);
}

#[test]
fn nothing_found() {
    let missing = Path::new("/nonexistent/cuda").to_path_buf();
    let directory = Directory::new(
        "empty",
        &["nvvm/lib64/readme", "nvidia/cuda/x", "nvidia/file"],
    );
    let found = find_in(&[
        (missing.clone(), Origin::System),
        directory.root(),
        (missing.clone(), Origin::Caller),
    ]);
    assert_eq!(found.missing().collect::<Vec<_>>(), Part::ALL);
    assert_eq!(found.searched, [missing, directory.0.clone()]);
}
