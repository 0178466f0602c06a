//! Memory, images and semaphores of Vulkan.
//!
//! Vulkan fills memory and signals, CUDA computes with it and signals, and Vulkan copies the result
//! to memory that the host reads.

use std::error::Error;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use ash::vk;
use cust::external::{ExternalMemory, ExternalSemaphore};
use cust::memory::ArrayFlags;
use cust::prelude::*;
use interop_tests::BUMP;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const COUNT: u32 = 100_000;
const BYTES: u64 = COUNT as u64 * 4;
const OPAQUE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;

/// Vulkan on the GPU that CUDA uses. The test's process ends soon: nothing is given back but what
/// is in the way of others.
struct Vulkan {
    _entry: ash::Entry,
    instance: ash::Instance,
    physical: vk::PhysicalDevice,
    device: ash::Device,
    memory_fd: ash::khr::external_memory_fd::Device,
    semaphore_fd: ash::khr::external_semaphore_fd::Device,
    queue: vk::Queue,
    pool: vk::CommandPool,
}

/// A buffer, or an image, with its memory.
struct Resource<T> {
    handle: T,
    memory: vk::DeviceMemory,
    size: u64,
}

impl Vulkan {
    fn new(entry: ash::Entry, uuid: [u8; 16]) -> Outcome<Vulkan> {
        // SAFETY: the calls of this function have the arguments that Vulkan's specification wants.
        unsafe {
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
            let create = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&create, None)?;
            let physical = instance
                .enumerate_physical_devices()?
                .into_iter()
                .find(|&device| {
                    let mut ids = vk::PhysicalDeviceIDProperties::default();
                    let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut ids);
                    instance.get_physical_device_properties2(device, &mut all);
                    ids.device_uuid == uuid
                })
                .ok_or("Vulkan does not know CUDA's GPU")?;
            let families = instance.get_physical_device_queue_family_properties(physical);
            let family = families
                .iter()
                .position(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE))
                .ok_or("no queue computes")? as u32;
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family)
                .queue_priorities(&[1.0])];
            let extensions = [
                ash::khr::external_memory_fd::NAME.as_ptr(),
                ash::khr::external_semaphore_fd::NAME.as_ptr(),
            ];
            let mut features =
                vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
            let create = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&extensions)
                .push_next(&mut features);
            let device = instance.create_device(physical, &create, None)?;
            let create = vk::CommandPoolCreateInfo::default().queue_family_index(family);
            Ok(Vulkan {
                memory_fd: ash::khr::external_memory_fd::Device::new(&instance, &device),
                semaphore_fd: ash::khr::external_semaphore_fd::Device::new(&instance, &device),
                queue: device.get_device_queue(family, 0),
                pool: device.create_command_pool(&create, None)?,
                _entry: entry,
                instance,
                physical,
                device,
            })
        }
    }

    /// Memory with these properties for what has such needs; `export`: also for others.
    fn allocate(
        &self,
        needs: vk::MemoryRequirements,
        properties: vk::MemoryPropertyFlags,
        export: bool,
    ) -> Outcome<vk::DeviceMemory> {
        // SAFETY: as in `new`.
        unsafe {
            let all = self
                .instance
                .get_physical_device_memory_properties(self.physical);
            let kind = (0..all.memory_type_count)
                .find(|&i| {
                    let kind = all.memory_types[i as usize];
                    needs.memory_type_bits & (1 << i) != 0
                        && kind.property_flags.contains(properties)
                })
                .ok_or("there is no such memory")?;
            let mut exported = vk::ExportMemoryAllocateInfo::default().handle_types(OPAQUE);
            let mut allocate = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(kind);
            if export {
                allocate = allocate.push_next(&mut exported);
            }
            Ok(self.device.allocate_memory(&allocate, None)?)
        }
    }

    fn buffer(
        &self,
        properties: vk::MemoryPropertyFlags,
        export: bool,
    ) -> Outcome<Resource<vk::Buffer>> {
        // SAFETY: as in `new`.
        unsafe {
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(OPAQUE);
            let mut create = vk::BufferCreateInfo::default()
                .size(BYTES)
                .usage(vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST);
            if export {
                create = create.push_next(&mut external);
            }
            let handle = self.device.create_buffer(&create, None)?;
            let needs = self.device.get_buffer_memory_requirements(handle);
            let memory = self.allocate(needs, properties, export)?;
            self.device.bind_buffer_memory(handle, memory, 0)?;
            Ok(Resource {
                handle,
                memory,
                size: needs.size,
            })
        }
    }

    /// An image of 32-bit floats, whose memory others may have.
    fn image(&self, width: u32, height: u32, levels: u32) -> Outcome<Resource<vk::Image>> {
        // SAFETY: as in `new`.
        unsafe {
            let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(OPAQUE);
            let create = vk::ImageCreateInfo::default()
                .image_type(vk::ImageType::TYPE_2D)
                .format(vk::Format::R32_SFLOAT)
                .extent(vk::Extent3D {
                    width,
                    height,
                    depth: 1,
                })
                .mip_levels(levels)
                .array_layers(1)
                .samples(vk::SampleCountFlags::TYPE_1)
                .tiling(vk::ImageTiling::OPTIMAL)
                .usage(vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST)
                .push_next(&mut external);
            let handle = self.device.create_image(&create, None)?;
            let needs = self.device.get_image_memory_requirements(handle);
            let memory = self.allocate(needs, vk::MemoryPropertyFlags::DEVICE_LOCAL, true)?;
            self.device.bind_image_memory(handle, memory, 0)?;
            Ok(Resource {
                handle,
                memory,
                size: needs.size,
            })
        }
    }

    fn export_memory(&self, memory: vk::DeviceMemory) -> Outcome<OwnedFd> {
        let get = vk::MemoryGetFdInfoKHR::default()
            .memory(memory)
            .handle_type(OPAQUE);
        // SAFETY: the memory was allocated for it; the descriptor is the caller's.
        unsafe { Ok(OwnedFd::from_raw_fd(self.memory_fd.get_memory_fd(&get)?)) }
    }

    fn semaphore(&self, timeline: bool) -> Outcome<vk::Semaphore> {
        let kind = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;
        let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(kind);
        let mut counts = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let mut create = vk::SemaphoreCreateInfo::default().push_next(&mut export);
        if timeline {
            create = create.push_next(&mut counts);
        }
        // SAFETY: as in `new`.
        unsafe { Ok(self.device.create_semaphore(&create, None)?) }
    }

    fn export_semaphore(&self, semaphore: vk::Semaphore) -> Outcome<OwnedFd> {
        let get = vk::SemaphoreGetFdInfoKHR::default()
            .semaphore(semaphore)
            .handle_type(vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD);
        // SAFETY: the semaphore was made for it; the descriptor is the caller's.
        unsafe {
            Ok(OwnedFd::from_raw_fd(
                self.semaphore_fd.get_semaphore_fd(&get)?,
            ))
        }
    }

    /// The memory, as CUDA has it.
    fn import_memory<T>(&self, resource: &Resource<T>) -> Outcome<ExternalMemory> {
        let fd = self.export_memory(resource.memory)?;
        // SAFETY: the descriptor is of memory of that size.
        Ok(unsafe { ExternalMemory::from_fd(fd, resource.size, false)? })
    }

    /// The semaphore, as CUDA has it.
    fn import_semaphore(
        &self,
        semaphore: vk::Semaphore,
        timeline: bool,
    ) -> Outcome<ExternalSemaphore> {
        let fd = self.export_semaphore(semaphore)?;
        // SAFETY: the descriptor is of a semaphore, of the kind that the caller made.
        Ok(unsafe { ExternalSemaphore::from_fd(fd, timeline)? })
    }

    /// Lets the queue do what `record` says, after a semaphore has its value, and signal another
    /// with a value then. Values count for timelines alone. Returns the fence of its end.
    fn submit(
        &self,
        wait: Option<(vk::Semaphore, u64)>,
        signal: Option<(vk::Semaphore, u64)>,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Outcome<vk::Fence> {
        // SAFETY: as in `new`.
        unsafe {
            let allocate = vk::CommandBufferAllocateInfo::default()
                .command_pool(self.pool)
                .command_buffer_count(1);
            let commands = self.device.allocate_command_buffers(&allocate)?;
            let begin = vk::CommandBufferBeginInfo::default();
            self.device.begin_command_buffer(commands[0], &begin)?;
            record(&self.device, commands[0]);
            self.device.end_command_buffer(commands[0])?;
            let (wait_on, wait_for): (Vec<_>, Vec<_>) = wait.into_iter().unzip();
            let (signal, signal_with): (Vec<_>, Vec<_>) = signal.into_iter().unzip();
            let stages = vec![vk::PipelineStageFlags::ALL_COMMANDS; wait_on.len()];
            let mut values = vk::TimelineSemaphoreSubmitInfo::default()
                .wait_semaphore_values(&wait_for)
                .signal_semaphore_values(&signal_with);
            let submit = [vk::SubmitInfo::default()
                .wait_semaphores(&wait_on)
                .wait_dst_stage_mask(&stages)
                .signal_semaphores(&signal)
                .command_buffers(&commands)
                .push_next(&mut values)];
            let fence = self
                .device
                .create_fence(&vk::FenceCreateInfo::default(), None)?;
            self.device.queue_submit(self.queue, &submit, fence)?;
            Ok(fence)
        }
    }

    fn finish(&self, fence: vk::Fence) -> Outcome {
        // SAFETY: as in `new`.
        unsafe {
            self.device
                .wait_for_fences(&[fence], true, 10_000_000_000)?
        };
        Ok(())
    }

    /// The contents of a buffer in memory that the host can access.
    fn read(&self, buffer: &Resource<vk::Buffer>) -> Outcome<Vec<u32>> {
        // SAFETY: nobody else uses the memory now, and it has this number of bytes.
        unsafe {
            let flags = vk::MemoryMapFlags::empty();
            let from = self.device.map_memory(buffer.memory, 0, BYTES, flags)?;
            let words = std::slice::from_raw_parts(from.cast::<u32>(), COUNT as usize).to_vec();
            self.device.unmap_memory(buffer.memory);
            Ok(words)
        }
    }

    fn copy(device: &ash::Device, commands: vk::CommandBuffer, from: vk::Buffer, to: vk::Buffer) {
        let region = [vk::BufferCopy::default().size(BYTES)];
        // SAFETY: both have this number of bytes.
        unsafe { device.cmd_copy_buffer(commands, from, to, &region) };
    }
}

/// Both sides, on one GPU; `None` on a machine without Vulkan.
fn both() -> Outcome<Option<(Context, Vulkan)>> {
    let context = cust::quick_init_on(Backend::Gpu)?;
    // SAFETY: Vulkan's library has no requirements for being loaded.
    let entry = match unsafe { ash::Entry::load() } {
        Ok(entry) => entry,
        Err(error) => {
            test_outcome::skip(format_args!("there is no Vulkan: {error}"));
            return Ok(None);
        }
    };
    let vulkan = Vulkan::new(entry, context.device().uuid()?)?;
    Ok(Some((context, vulkan)))
}

fn host_visible() -> vk::MemoryPropertyFlags {
    vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT
}

/// Adds `by` to each word.
fn bump(kernel: &Function<'_>, stream: &Stream, data: DevicePointer<u32>, by: u32) -> Outcome {
    // SAFETY: the data has this number of elements.
    unsafe { launch!(kernel<<<COUNT.div_ceil(256), 256, 0, stream>>>(data, COUNT, by))? };
    Ok(())
}

/// Vulkan fills a buffer with 5, CUDA adds 7, Vulkan copies it to the host; ordered by semaphores of
/// one kind.
fn there_and_back(timeline: bool) -> Outcome {
    let Some((_context, vulkan)) = both()? else {
        return Ok(());
    };
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let module = Module::from_ptx(BUMP, &[])?;
    let kernel = module.get_function("bump")?;
    let shared = vulkan.buffer(vk::MemoryPropertyFlags::DEVICE_LOCAL, true)?;
    let output = vulkan.buffer(host_visible(), false)?;
    let (filled, added) = (vulkan.semaphore(timeline)?, vulkan.semaphore(timeline)?);
    let memory = vulkan.import_memory(&shared)?;
    let wait_filled = vulkan.import_semaphore(filled, timeline)?;
    let signal_added = vulkan.import_semaphore(added, timeline)?;
    let data = memory.map::<u32>(0, COUNT as usize)?;
    // The mapping keeps the memory alive.
    drop(memory);
    for round in 1..=3u64 {
        vulkan.submit(None, Some((filled, round)), |device, commands| {
            // SAFETY: the buffer has this number of bytes.
            unsafe { device.cmd_fill_buffer(commands, shared.handle, 0, BYTES, 5) };
        })?;
        wait_filled.wait(round, &stream)?;
        bump(&kernel, &stream, data.as_device_ptr(), 7 * round as u32)?;
        signal_added.signal(round, &stream)?;
        let copied = vulkan.submit(Some((added, round)), None, |device, commands| {
            Vulkan::copy(device, commands, shared.handle, output.handle);
        })?;
        vulkan.finish(copied)?;
        stream.synchronize()?;
        let found = vulkan.read(&output)?;
        assert!(
            found.iter().all(|&x| x == 5 + 7 * round as u32),
            "{:?}",
            &found[..4]
        );
    }
    Ok(())
}

#[test]
#[ignore = "needs a GPU"]
fn a_buffer_there_and_back_by_timelines() -> Outcome {
    there_and_back(true)
}

#[test]
#[ignore = "needs a GPU"]
fn a_buffer_there_and_back_by_binary_semaphores() -> Outcome {
    there_and_back(false)
}

#[test]
#[ignore = "needs a GPU"]
fn a_graph_waits_and_signals() -> Outcome {
    let Some((_context, vulkan)) = both()? else {
        return Ok(());
    };
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let semaphore = vulkan.semaphore(true)?;
    let imported = Arc::new(vulkan.import_semaphore(semaphore, true)?);
    let mut graph = GraphBuilder::new()?;
    let wait = graph.wait_semaphore(&imported, 1, &[])?;
    graph.signal_semaphore(&imported, 2, &[wait])?;
    let mut graph = graph.instantiate()?;
    // The graph keeps it.
    drop(imported);
    graph.launch(&stream)?;
    assert!(!stream.query()?, "nobody has signaled yet");
    vulkan.submit(None, Some((semaphore, 1)), |_, _| {})?;
    let end = vulkan.submit(Some((semaphore, 2)), None, |_, _| {})?;
    vulkan.finish(end)?;
    stream.synchronize()?;
    Ok(())
}

#[test]
#[ignore = "needs a GPU"]
fn an_image_is_an_array_with_levels() -> Outcome {
    let Some((_context, vulkan)) = both()? else {
        return Ok(());
    };
    let (width, height, levels) = (64, 32, 3);
    let image = vulkan.image(width, height, levels)?;
    let cleared = vulkan.submit(None, None, |device, commands| {
        let range = |level, count| {
            vk::ImageSubresourceRange::default()
                .aspect_mask(vk::ImageAspectFlags::COLOR)
                .base_mip_level(level)
                .level_count(count)
                .layer_count(1)
        };
        let barrier = vk::ImageMemoryBarrier::default()
            .new_layout(vk::ImageLayout::GENERAL)
            .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .image(image.handle)
            .subresource_range(range(0, levels));
        // SAFETY: as in `Vulkan::new`.
        unsafe {
            device.cmd_pipeline_barrier(
                commands,
                vk::PipelineStageFlags::TOP_OF_PIPE,
                vk::PipelineStageFlags::TRANSFER,
                vk::DependencyFlags::empty(),
                &[],
                &[],
                &[barrier],
            );
            for level in 0..levels {
                let color = vk::ClearColorValue {
                    float32: [level as f32 + 0.5; 4],
                };
                let layout = vk::ImageLayout::GENERAL;
                device.cmd_clear_color_image(
                    commands,
                    image.handle,
                    layout,
                    &color,
                    &[range(level, 1)],
                );
            }
        }
    })?;
    vulkan.finish(cleared)?;
    let memory = vulkan.import_memory(&image)?;
    let extent = (width as usize, height as usize);
    // SAFETY: the memory has such an image, and Vulkan is done with it.
    let array = unsafe { memory.map_array::<f32>(0, extent, levels, ArrayFlags::empty())? };
    // The mapping keeps the memory alive.
    drop(memory);
    for level in 0..levels {
        let found = array
            .level(level as usize)
            .ok_or("a level is missing")?
            .as_host_vec()?;
        let size = (width >> level) * (height >> level);
        assert_eq!(
            found,
            vec![level as f32 + 0.5; size as usize],
            "level {level}"
        );
    }
    Ok(())
}

#[test]
#[ignore = "needs a GPU"]
fn what_is_no_memory_of_vulkans_is_an_error() -> Outcome {
    let Some((_context, vulkan)) = both()? else {
        return Ok(());
    };
    let nothing = || std::fs::File::open("/dev/null").map(OwnedFd::from);
    // SAFETY: they fail.
    let (memory, semaphore) = unsafe {
        (
            ExternalMemory::from_fd(nothing()?, BYTES, false),
            ExternalSemaphore::from_fd(nothing()?, true),
        )
    };
    let error = memory.unwrap_err().to_string();
    assert!(
        error.contains("importing 400000 bytes of memory"),
        "{error}"
    );
    let error = semaphore.unwrap_err().to_string();
    assert!(error.contains("importing an external semaphore"), "{error}");

    let shared = vulkan.buffer(vk::MemoryPropertyFlags::DEVICE_LOCAL, true)?;
    let memory = vulkan.import_memory(&shared)?;
    let beyond = shared.size as usize / 4 + 1;
    assert!(matches!(
        memory.map::<u32>(0, beyond),
        Err(cust::error::Error::OutOfBounds { .. })
    ));
    Ok(())
}

#[test]
#[ignore = "needs a GPU"]
fn a_semaphore_that_is_still_waited_for_may_be_dropped() -> Outcome {
    let Some((_context, vulkan)) = both()? else {
        return Ok(());
    };
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let semaphore = vulkan.semaphore(true)?;
    let imported = vulkan.import_semaphore(semaphore, true)?;
    imported.wait(1, &stream)?;
    drop(imported);
    assert!(!stream.query()?);
    vulkan.submit(None, Some((semaphore, 1)), |_, _| {})?;
    stream.synchronize()?;
    Ok(())
}
