//! The architecture of the device: its limits, and the PTX that it loads.

use std::sync::LazyLock;

/// The environment variable with the architecture of the device, such as `sm_100`.
const VARIABLE: &str = "PTX_EMULATOR_ARCH";

/// The properties that differ between architectures, from the CUDA Programming Guide's table of
/// compute capabilities.
pub(super) struct Model {
    name: &'static str,
    pub(super) capability: (u32, u32),
    /// The maximum shared memory of a block that opts in, in bytes.
    pub(super) max_shared_optin: i32,
    pub(super) shared_per_multiprocessor: i32,
    pub(super) threads_per_multiprocessor: i32,
    pub(super) blocks_per_multiprocessor: i32,
}

const fn datacenter(name: &'static str, capability: (u32, u32)) -> Model {
    Model {
        name,
        capability,
        max_shared_optin: 227 << 10,
        shared_per_multiprocessor: 228 << 10,
        threads_per_multiprocessor: 2048,
        blocks_per_multiprocessor: 32,
    }
}

const fn desktop(name: &'static str, capability: (u32, u32)) -> Model {
    Model {
        name,
        capability,
        max_shared_optin: 99 << 10,
        shared_per_multiprocessor: 100 << 10,
        threads_per_multiprocessor: 1536,
        blocks_per_multiprocessor: 24,
    }
}

/// The supported architectures; the first one is the default.
const MODELS: [Model; 5] = [
    datacenter("sm_90", (9, 0)),
    datacenter("sm_100", (10, 0)),
    datacenter("sm_103", (10, 3)),
    desktop("sm_120", (12, 0)),
    desktop("sm_121", (12, 1)),
];

/// Returns the architecture of the device.
pub(super) fn model() -> &'static Model {
    static MODEL: LazyLock<&Model> = LazyLock::new(|| {
        let given = std::env::var(VARIABLE).unwrap_or_default();
        let found = MODELS.iter().find(|model| model.name == given);
        if found.is_none() && !given.is_empty() {
            let names = MODELS.map(|model| model.name).join(", ");
            eprintln!(
                "warning: {VARIABLE} is `{given}`, expected one of {names}; the emulator is {}",
                MODELS[0].name
            );
        }
        found.unwrap_or(&MODELS[0])
    });
    &MODEL
}

impl Model {
    /// Returns the reason why the device does not load PTX with this `.target` architecture, if it
    /// does not.
    pub(super) fn refusal(&self, target: &str) -> Option<String> {
        if self.loads(target) {
            return None;
        }
        let mut text = format!("the PTX is for {target}, but the emulator is {}", self.name);
        if let Some(other) = MODELS.iter().find(|model| model.loads(target)) {
            text.push_str(&format!(
                "\nhelp: set the environment variable {VARIABLE} to {}",
                other.name
            ));
        }
        Some(text)
    }

    /// Returns whether the device loads PTX for an architecture. Returns true for an invalid name,
    /// about which the parser reports more.
    fn loads(&self, target: &str) -> bool {
        let name = target.strip_prefix("sm_").unwrap_or_default();
        let digits = name.trim_end_matches(['a', 'f']);
        let Ok(number) = digits.parse::<u32>() else {
            return true;
        };
        let (major, minor) = (number / 10, number % 10);
        match &name[digits.len()..] {
            "" => (major, minor) <= self.capability,
            "f" => major == self.capability.0 && minor <= self.capability.1,
            _ => (major, minor) == self.capability,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_loads_ptx_of_earlier_architectures_and_of_its_own_features() {
        let loads = |model: usize, target| MODELS[model].loads(target);
        for target in ["sm_75", "sm_90", "sm_90a"] {
            assert!(loads(0, target), "{target}");
        }
        for target in ["sm_100", "sm_100f", "sm_100a", "sm_120"] {
            assert!(!loads(0, target), "{target}");
        }
        assert!(loads(1, "sm_90") && loads(1, "sm_100a") && !loads(1, "sm_90a"));
        assert!(loads(2, "sm_100f") && !loads(2, "sm_100a"));
        assert!(loads(3, "sm_103") && !loads(3, "sm_103f"));
        let refusal = MODELS[0].refusal("sm_100").unwrap();
        assert!(
            refusal.ends_with("PTX_EMULATOR_ARCH to sm_100"),
            "{refusal}"
        );
        assert!(!MODELS[4].refusal("sm_300").unwrap().contains("help"));
    }
}
