//! The configuration of launches.

use cust_raw::{
    CUaccessPolicyWindow, CUaccessProperty, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig,
};
use smallvec::SmallVec;

use crate::dimensions::{BlockSize, GridSize};
use crate::error::CudaResult;
use crate::function::Function;
use crate::stream::Stream;

/// The configuration of a launch: grid and block dimensions, dynamic shared memory, and launch
/// attributes.
///
/// A tuple of grid and block dimensions converts to a `LaunchConfig`, as does a tuple of grid and
/// block dimensions and the number of bytes of dynamic shared memory.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
///
/// let config = LaunchConfig::new((4, 4), 256).shared_mem_bytes(1024);
/// assert_eq!(config, ((4, 4), 256, 1024).into());
/// assert_eq!(LaunchConfig::for_elements(1000, 256).grid, GridSize::x(4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchConfig {
    /// The number of blocks of the grid.
    pub grid: GridSize,
    /// The number of threads per block.
    pub block: BlockSize,
    /// Bytes of dynamic shared memory per block.
    pub shared_mem_bytes: u32,
    /// The number of blocks per cluster. The blocks of a cluster can access each other's shared
    /// memory.
    pub cluster: Option<GridSize>,
    /// Whether the launch is cooperative: all blocks are resident at the same time and may
    /// synchronize with each other.
    pub cooperative: bool,
    /// The priority of the launch; `None` for the stream's priority.
    pub priority: Option<i32>,
    /// The rarely used attributes.
    rare: Rare,
}

/// Rarely used launch attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Rare {
    any: bool,
    programmatic: bool,
    preferred_cluster: Option<GridSize>,
    cluster_policy: Option<ClusterPolicy>,
    carveout: Option<u32>,
    sync_domain: Option<SyncDomain>,
    nvlink: Option<bool>,
    window: Option<AccessWindow>,
}

/// The cluster scheduling policy of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClusterPolicy {
    /// Spreads the blocks of a cluster over the multiprocessors.
    Spread,
    /// Lets the hardware balance the load.
    LoadBalancing,
}

/// The memory synchronization domain of a launch. A fence orders only the writes of kernels in the
/// same domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncDomain {
    /// The default domain.
    Default,
    /// The domain for kernels that write to other devices, so that fences of kernels in the default
    /// domain do not wait for these writes.
    Remote,
}

/// How the L2 cache treats the lines of an [`AccessWindow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheProperty {
    /// No preference.
    Normal,
    /// The lines are evicted first.
    Streaming,
    /// The lines stay in the part of the L2 cache that is set aside for persisting accesses.
    Persisting,
}

/// An access policy window: advice to the L2 cache about a range of memory that a kernel accesses
/// repeatedly, or only once. It affects performance, never results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessWindow {
    /// The first address.
    pub address: u64,
    /// The number of bytes.
    pub bytes: usize,
    /// The percentage of lines that get the property `hit`; the others get `miss`.
    pub hit_percent: u8,
    /// The property of `hit_percent` percent of the lines, usually [`CacheProperty::Persisting`].
    pub hit: CacheProperty,
    /// The property of the other lines: not [`CacheProperty::Persisting`].
    pub miss: CacheProperty,
}

impl LaunchConfig {
    /// Creates the configuration of a launch with the given grid and block dimensions.
    pub fn new(grid: impl Into<GridSize>, block: impl Into<BlockSize>) -> LaunchConfig {
        LaunchConfig {
            grid: grid.into(),
            block: block.into(),
            shared_mem_bytes: 0,
            cluster: None,
            cooperative: false,
            priority: None,
            rare: Rare::default(),
        }
    }

    /// Creates a one-dimensional configuration with at least one thread per element: the number of
    /// blocks is `elements / block`, rounded up and clamped to 1 ..= 2³¹ − 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let config = LaunchConfig::for_elements(1000, 256);
    /// assert_eq!((config.grid, config.block), (GridSize::x(4), BlockSize::x(256)));
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn for_elements(elements: usize, block: u32) -> LaunchConfig {
        const MOST: usize = i32::MAX as usize;
        let blocks = elements.div_ceil(block.max(1) as usize).clamp(1, MOST);
        LaunchConfig::new(blocks as u32, block)
    }

    /// Sets the number of bytes of dynamic shared memory per block.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// // 4 blocks of 256 threads with 1 KiB of dynamic shared memory each.
    /// let config = LaunchConfig::new(4, 256).shared_mem_bytes(1024);
    /// # let _ = config;
    /// ```
    #[must_use]
    pub fn shared_mem_bytes(mut self, bytes: u32) -> LaunchConfig {
        self.shared_mem_bytes = bytes;
        self
    }

    /// Sets the number of blocks per cluster.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let config = LaunchConfig::new(8, 128).cluster(2);
    /// assert_eq!(config.cluster, Some(GridSize::x(2)));
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    #[must_use]
    pub fn cluster(mut self, blocks: impl Into<GridSize>) -> LaunchConfig {
        self.cluster = Some(blocks.into());
        self
    }

    /// Makes the launch cooperative: all blocks are resident at the same time and may synchronize
    /// with each other.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// // Kernels that synchronize the grid need a cooperative launch.
    /// let config = LaunchConfig::new(4, 256).cooperative();
    /// # let _ = config;
    /// ```
    #[must_use]
    pub fn cooperative(mut self) -> LaunchConfig {
        self.cooperative = true;
        self
    }

    /// Enables programmatic dependent launch: the kernel may start before the preceding kernel in
    /// the stream has completed, as soon as every block of the preceding kernel has called
    /// `griddepcontrol_launch_dependents` or exited. Requires compute capability 9.0.
    ///
    /// # Safety
    ///
    /// The kernel must call `griddepcontrol_wait` before it accesses memory that earlier work in
    /// the stream accesses, and before it exits.
    #[must_use]
    pub unsafe fn programmatic(mut self) -> LaunchConfig {
        self.rare.any = true;
        self.rare.programmatic = true;
        self
    }

    /// Sets the preferred number of blocks per cluster, a multiple of the number set by
    /// [`cluster`], which is used where the preferred number does not fit. Requires compute
    /// capability 10.0.
    ///
    /// [`cluster`]: LaunchConfig::cluster
    #[must_use]
    pub fn preferred_cluster(mut self, blocks: impl Into<GridSize>) -> LaunchConfig {
        self.rare.any = true;
        self.rare.preferred_cluster = Some(blocks.into());
        self
    }

    /// Sets the cluster scheduling policy.
    #[must_use]
    pub fn cluster_policy(mut self, policy: ClusterPolicy) -> LaunchConfig {
        self.rare.any = true;
        self.rare.cluster_policy = Some(policy);
        self
    }

    /// Sets the preferred share of the unified L1 cache and shared memory that is used as shared
    /// memory, in percent.
    #[must_use]
    pub fn shared_memory_carveout(mut self, percent: u8) -> LaunchConfig {
        self.rare.any = true;
        self.rare.carveout = Some(percent.min(100).into());
        self
    }

    /// Sets the memory synchronization domain.
    #[must_use]
    pub fn sync_domain(mut self, domain: SyncDomain) -> LaunchConfig {
        self.rare.any = true;
        self.rare.sync_domain = Some(domain);
        self
    }

    /// Sets whether the launch is scheduled to maximize NVLink utilization.
    #[must_use]
    pub fn nvlink_centric(mut self, centric: bool) -> LaunchConfig {
        self.rare.any = true;
        self.rare.nvlink = Some(centric);
        self
    }

    /// Sets the access policy window, which advises the L2 cache.
    #[must_use]
    pub fn access_window(mut self, window: AccessWindow) -> LaunchConfig {
        self.rare.any = true;
        self.rare.window = Some(window);
        self
    }

    /// Returns whether the launch has attributes, which `cuLaunchKernel` cannot take.
    #[inline]
    pub(crate) fn has_attributes(&self) -> bool {
        self.cluster.is_some() || self.cooperative || self.priority.is_some() || self.rare.any
    }

    /// Returns whether programmatic dependent launch is enabled.
    pub(crate) fn is_programmatic(&self) -> bool {
        self.rare.programmatic
    }

    /// Sets the priority of the launch, which overrides the stream's priority.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> LaunchConfig {
        self.priority = Some(priority);
        self
    }
}

impl<G: Into<GridSize>, B: Into<BlockSize>> From<(G, B)> for LaunchConfig {
    fn from((grid, block): (G, B)) -> LaunchConfig {
        LaunchConfig::new(grid, block)
    }
}

impl<G: Into<GridSize>, B: Into<BlockSize>> From<(G, B, u32)> for LaunchConfig {
    fn from((grid, block, bytes): (G, B, u32)) -> LaunchConfig {
        LaunchConfig::new(grid, block).shared_mem_bytes(bytes)
    }
}

pub(crate) fn attributes(config: &LaunchConfig) -> SmallVec<[CUlaunchAttribute; 4]> {
    let mut attributes = SmallVec::new();
    let attribute = |id| {
        // SAFETY: all-zero bytes are valid for every kind of attribute.
        let mut attribute: CUlaunchAttribute = unsafe { std::mem::zeroed() };
        attribute.id = id;
        attribute
    };
    if let Some(cluster) = config.cluster {
        let mut a = attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        // Writing a single field of a union is safe.
        a.value.clusterDim.x = cluster.x;
        a.value.clusterDim.y = cluster.y;
        a.value.clusterDim.z = cluster.z;
        attributes.push(a);
    }
    if config.cooperative {
        let mut a = attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
        a.value.cooperative = 1;
        attributes.push(a);
    }
    if let Some(priority) = config.priority {
        let mut a = attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY);
        a.value.priority = priority;
        attributes.push(a);
    }
    if config.rare.any {
        rare_attributes(&config.rare, attribute, &mut attributes);
    }
    attributes
}

#[cold]
fn rare_attributes(
    rare: &Rare,
    attribute: impl Fn(CUlaunchAttributeID) -> CUlaunchAttribute,
    attributes: &mut SmallVec<[CUlaunchAttribute; 4]>,
) {
    use CUlaunchAttributeID as Id;
    if rare.programmatic {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
        a.value.programmaticStreamSerializationAllowed = 1;
        attributes.push(a);
    }
    if let Some(cluster) = rare.preferred_cluster {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
        a.value.preferredClusterDim.x = cluster.x;
        a.value.preferredClusterDim.y = cluster.y;
        a.value.preferredClusterDim.z = cluster.z;
        attributes.push(a);
    }
    if let Some(policy) = rare.cluster_policy {
        use cust_raw::CUclusterSchedulingPolicy as Raw;
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
        a.value.clusterSchedulingPolicyPreference = match policy {
            ClusterPolicy::Spread => Raw::CU_CLUSTER_SCHEDULING_POLICY_SPREAD,
            ClusterPolicy::LoadBalancing => Raw::CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING,
        };
        attributes.push(a);
    }
    if let Some(percent) = rare.carveout {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
        a.value.sharedMemCarveout = percent;
        attributes.push(a);
    }
    if let Some(domain) = rare.sync_domain {
        use cust_raw::CUlaunchMemSyncDomain as Raw;
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
        a.value.memSyncDomain = match domain {
            SyncDomain::Default => Raw::CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT,
            SyncDomain::Remote => Raw::CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE,
        };
        attributes.push(a);
    }
    if let Some(centric) = rare.nvlink {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING);
        a.value.nvlinkUtilCentricScheduling = centric.into();
        attributes.push(a);
    }
    if let Some(window) = rare.window {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
        a.value.accessPolicyWindow = window.raw();
        attributes.push(a);
    }
}

impl AccessWindow {
    fn raw(&self) -> CUaccessPolicyWindow {
        let property = |property| match property {
            CacheProperty::Normal => CUaccessProperty::CU_ACCESS_PROPERTY_NORMAL,
            CacheProperty::Streaming => CUaccessProperty::CU_ACCESS_PROPERTY_STREAMING,
            CacheProperty::Persisting => CUaccessProperty::CU_ACCESS_PROPERTY_PERSISTING,
        };
        CUaccessPolicyWindow {
            base_ptr: std::ptr::with_exposed_provenance_mut(self.address as usize),
            num_bytes: self.bytes,
            hitRatio: f32::from(self.hit_percent.min(100)) / 100.0,
            hitProp: property(self.hit),
            missProp: property(self.miss),
        }
    }
}

impl Stream {
    /// Sets the access policy window of all later launches in the stream.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the window is larger than the device supports.
    pub fn set_access_window(&self, window: AccessWindow) -> CudaResult<()> {
        let api = self.context().bind()?;
        // SAFETY: all-zero bytes are valid for every kind of attribute.
        let mut value: cust_raw::CUlaunchAttributeValue = unsafe { std::mem::zeroed() };
        value.accessPolicyWindow = window.raw();
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
        // SAFETY: the stream is alive, and the value has the attribute's kind.
        let result = unsafe { api.driver.cuStreamSetAttribute(self.as_inner(), id, &value) };
        api.check(result, || {
            format!("setting a stream's access policy window to {window:?}")
        })
    }
}

impl Function<'_> {
    /// Returns the maximum cluster size, in blocks, of a launch with this configuration.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the device has no clusters or rejects the configuration.
    pub fn max_cluster_size(&self, config: impl Into<LaunchConfig>) -> CudaResult<u32> {
        let api = self.context().bind()?;
        let raw = raw_config(&config.into());
        let mut least = i32::MAX;
        for entry in self.entries() {
            let mut blocks = 0;
            // SAFETY: the function is alive, and the pointers are valid for the call.
            let result = unsafe {
                api.driver
                    .cuOccupancyMaxPotentialClusterSize(&mut blocks, entry, &raw)
            };
            api.check(result, || format!("computing a cluster size for {self:?}"))?;
            least = least.min(blocks);
        }
        Ok(least as u32)
    }

    /// Returns the maximum number of clusters of a launch with this configuration that are resident
    /// on the device at the same time.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the device has no clusters or rejects the configuration.
    pub fn max_active_clusters(&self, config: impl Into<LaunchConfig>) -> CudaResult<u32> {
        let api = self.context().bind()?;
        let config = config.into();
        let mut attributes = attributes(&config);
        let mut raw = raw_config(&config);
        raw.attrs = attributes.as_mut_ptr();
        raw.numAttrs = attributes.len() as u32;
        let mut least = i32::MAX;
        for entry in self.entries() {
            let mut clusters = 0;
            // SAFETY: the function is alive, and the pointers are valid for the call.
            let result = unsafe {
                api.driver
                    .cuOccupancyMaxActiveClusters(&mut clusters, entry, &raw)
            };
            api.check(result, || format!("computing the occupancy of {self:?}"))?;
            least = least.min(clusters);
        }
        Ok(least as u32)
    }
}

/// Returns the driver's launch configuration, without attributes and stream.
pub(super) fn raw_config(config: &LaunchConfig) -> CUlaunchConfig {
    // SAFETY: all-zero bytes are valid for these integers and pointers.
    let mut raw: CUlaunchConfig = unsafe { std::mem::zeroed() };
    let (grid, block) = (config.grid, config.block);
    (raw.gridDimX, raw.gridDimY, raw.gridDimZ) = (grid.x, grid.y, grid.z);
    (raw.blockDimX, raw.blockDimY, raw.blockDimZ) = (block.x, block.y, block.z);
    raw.sharedMemBytes = config.shared_mem_bytes;
    raw
}
