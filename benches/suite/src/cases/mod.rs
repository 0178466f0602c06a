//! The benchmarks: inputs, arguments, and the CPU's computation. The modules correspond to those of
//! the kernels.

mod assorted;
mod block;
mod camera;
mod chains;
mod chemistry;
mod ciphers;
mod compute;
mod data;
mod dense;
mod detection;
mod docking;
mod dynamics;
mod encoding;
mod estimates;
mod fields;
mod filters;
mod fourier;
mod graphics;
mod graphs;
mod grids;
mod hashing;
mod images;
mod imaging;
mod inference;
mod lattices;
mod layers;
mod learning;
mod miscellany;
mod neighbors;
mod networks;
mod particles;
mod physics;
mod ported;
mod programs;
mod records;
mod recurrences;
mod retrieval;
mod rows;
mod scan;
mod scenes;
mod sequences;
mod shapes;
mod signals;
mod solvers;
mod sparse;
mod stencil;
mod stream;
mod teams;
mod tensor;
mod threads;
mod training;
mod transport;
mod variety;
mod vision;
mod volumes;
mod worlds;

use crate::case::{Buffer, Case, Check, download};
use cust::error::CudaResult;
use cust::memory::DeviceCopy;

/// The sizes of benchmarks.
#[derive(Clone, Copy)]
pub struct Scale {
    /// Whether to use sizes for the emulator, with partial blocks, instead of those for a GPU.
    pub small: bool,
    /// The number of the GPU's multiprocessors.
    pub multiprocessors: usize,
}

impl Scale {
    /// Selects one of two sizes.
    pub fn pick(self, small: usize, full: usize) -> usize {
        if self.small { small } else { full }
    }

    /// Returns the number of blocks for grid-stride loops: at most as many as are resident at the
    /// same time.
    pub fn blocks(self, per_multiprocessor: usize) -> usize {
        self.pick(2, self.multiprocessors * per_multiprocessor)
    }
}

/// Compares the sum of the blocks' results with the CPU's.
fn total<T: DeviceCopy + Into<f64>>(results: &Buffer<T>, expected: f64, relative: f64) -> Check {
    let sum: f64 = download(results)?.into_iter().map(Into::into).sum();
    // Also false for NaN.
    let fits = (sum - expected).abs() <= relative * expected.abs();
    match fits {
        true => Ok(()),
        false => Err(format!("the sum is {sum}, but should be {expected}")),
    }
}

/// Creates a benchmark.
pub type Make = fn(Scale) -> CudaResult<Case>;

/// All benchmarks, by name.
pub const ALL: &[(&str, Make)] = &[
    ("stream_copy", stream::copy),
    ("stream_mul", stream::mul),
    ("stream_add", stream::add),
    ("stream_triad", stream::triad),
    ("stream_dot", stream::dot),
    ("stencil7_f32", stencil::stencil7_f32),
    ("stencil7_f64", stencil::stencil7_f64),
    ("jacobi", stencil::jacobi),
    ("convolution", stencil::convolution),
    ("transpose", dense::transpose),
    ("gemv", dense::gemv),
    ("sgemm", dense::sgemm),
    ("sgemm_registers", dense::sgemm_registers),
    ("spmv_banded", sparse::banded),
    ("spmv_power_law", sparse::power_law),
    ("nbody", particles::nbody),
    ("mandelbrot", compute::mandelbrot),
    ("black_scholes", compute::black_scholes),
    ("histogram", block::histogram),
    ("reduce", block::reduce),
    ("block_scan", block::scan),
    ("scan", scan::scan),
    ("softmax", block::softmax),
    ("layer_norm", block::layer_norm),
    ("bitonic", block::bitonic),
    ("minibude", docking::minibude),
    ("xsbench", transport::xsbench),
    ("hartree_fock", chemistry::hartree_fock),
    ("sha256", hashing::sha256),
    ("hash_insert", hashing::insert),
    ("fft", fourier::fft),
    ("gemm_bf16", tensor::gemm_bf16),
    ("jacobi5_f32", grids::jacobi5_f32),
    ("wave25", grids::wave25),
    ("lbm_d2q9", grids::lbm_d2q9),
    ("floyd_warshall", grids::floyd_warshall),
    ("min_plus", grids::min_plus),
    ("rgb_to_gray", images::rgb_to_gray),
    ("blur_rows", images::blur_rows),
    ("blur_columns", images::blur_columns),
    ("ray_spheres", images::ray_spheres),
    ("bitonic_pairs", data::bitonic_pairs),
    ("compact", data::compact),
    ("crc32", data::crc32),
    ("smith_waterman", data::smith_waterman),
    ("kmeans_assign", data::kmeans_assign),
    ("embedding_bag", data::embedding_bag),
    ("lennard_jones", physics::lennard_jones),
    ("asian_option", physics::asian_option),
    ("cg_update", physics::cg_update),
    ("cholesky", solvers::cholesky),
    ("thomas", solvers::thomas),
    ("bfs_level", graphs::bfs_level),
    ("fir_i16", signals::fir_i16),
    ("dct8x8", signals::dct8x8),
    ("resize_bilinear", signals::resize_bilinear),
    ("aes_ctr", ciphers::aes_ctr),
    ("dslash", fields::dslash),
    ("charge_deposit", fields::charge_deposit),
    ("knn", learning::knn),
    ("attention", learning::attention),
    ("int4_gemv", learning::int4_gemv),
    ("interpreter", programs::interpreter),
    ("levenshtein", programs::levenshtein),
    ("swiglu", inference::swiglu),
    ("int8_gemv", inference::int8_gemv),
    ("top_experts", inference::top_experts),
    ("skinning", graphics::skinning),
    ("ray_triangles", graphics::ray_triangles),
    ("inverse4x4", graphics::inverse4x4),
    ("median3x3", filters::median3x3),
    ("wavelet53", filters::wavelet53),
    ("sddmm", sparse::sddmm),
    ("fdtd3d", fields::fdtd3d),
    ("xxhash64", hashing::xxhash64),
    ("prime_sieve", compute::prime_sieve),
    ("depthwise3x3", layers::depthwise3x3),
    ("im2col", layers::im2col),
    ("group_norm", layers::group_norm),
    ("rope", layers::rope),
    ("top_p", layers::top_p),
    ("sobel", imaging::sobel),
    ("box_rows", imaging::box_rows),
    ("yuv_to_rgb", imaging::yuv_to_rgb),
    ("resize_bicubic", imaging::resize_bicubic),
    ("warp_spline", imaging::warp_spline),
    ("unite_pixels", imaging::unite_pixels),
    ("ray_march", scenes::ray_march),
    ("cyclic_reduction", recurrences::cyclic_reduction),
    ("biquad", recurrences::biquad),
    ("binomial", recurrences::binomial),
    ("philox", records::philox),
    ("parse_rows", records::parse_rows),
    ("relax_edges", records::relax_edges),
    ("spmm", records::spmm),
    ("sph_density", neighbors::sph_density),
    ("bvh_nearest", neighbors::bvh_nearest),
    ("lower_bound", neighbors::lower_bound),
    ("adam_step", training::adam_step),
    ("cross_entropy", training::cross_entropy),
    ("quantize_rows", training::quantize_rows),
    ("base64_encode", encoding::base64_encode),
    ("min_hash", encoding::min_hash),
    ("merge_sorted", encoding::merge_sorted),
    ("demosaic", camera::demosaic),
    ("rgb_to_hsv", camera::rgb_to_hsv),
    ("hamming_match", camera::hamming_match),
    ("predator_prey", dynamics::predator_prey),
    ("eigen3x3", dynamics::eigen3x3),
    ("advect_2d", dynamics::advect_2d),
    ("delta_decode", sequences::delta_decode),
    ("segmented_sum", sequences::segmented_sum),
    ("fir_decimate", sequences::fir_decimate),
    ("rms_norm", networks::rms_norm),
    ("lstm_cell", networks::lstm_cell),
    ("point_in_polygon", shapes::point_in_polygon),
    ("hough_lines", shapes::hough_lines),
    ("volume_sample", volumes::volume_sample),
    ("marching_cubes", volumes::marching_cubes),
    ("lu8x8", solvers::lu8x8),
    ("red_black", grids::red_black),
    ("radix_scatter", sequences::radix_scatter),
    ("game_of_life", worlds::game_of_life),
    ("perlin_noise", worlds::perlin_noise),
    ("voxel_traversal", worlds::voxel_traversal),
    ("max_pool", detection::max_pool),
    ("nms_masks", detection::nms_masks),
    ("block_match", detection::block_match),
    ("hmm_forward", chains::hmm_forward),
    ("random_walk", chains::random_walk),
    ("hog_cells", vision::hog_cells),
    ("optical_flow", vision::optical_flow),
    ("pq_distance", retrieval::pq_distance),
    ("cosine_rows", retrieval::cosine_rows),
    ("sliding_max", sequences::sliding_max),
    ("kmer_count", sequences::kmer_count),
    ("bsr_spmv", sparse::bsr_spmv),
    ("gauss_jordan", solvers::gauss_jordan),
    ("rigid_bodies", dynamics::rigid_bodies),
    ("gelu_residual", networks::gelu_residual),
    ("integral_rows", rows::integral_rows),
    ("argsort_rows", rows::argsort_rows),
    ("argmax_rows", rows::argmax_rows),
    ("graph_attention", rows::graph_attention),
    ("varint_rows", rows::varint_rows),
    ("ising_sweep", lattices::ising_sweep),
    ("restrict_3d", lattices::restrict_3d),
    ("bilateral", lattices::bilateral),
    ("goertzel", estimates::goertzel),
    ("least_squares", estimates::least_squares),
    ("hotspot3d", ported::hotspot3d),
    ("srad", ported::srad),
    ("covariance", ported::covariance),
    ("mriq", ported::mriq),
    ("tpacf", ported::tpacf),
    ("cfd", ported::cfd),
    ("resample", ported::resample),
    ("cluster", ported::cluster),
    ("haversine", assorted::haversine),
    ("jaccard", assorted::jaccard),
    ("search", assorted::search),
    ("grayscott", assorted::grayscott),
    ("cfir", assorted::cfir),
    ("particles", assorted::particles),
    ("matpower", assorted::matpower),
    ("dxt", assorted::dxt),
    ("siphash", threads::siphash),
    ("kepler", threads::kepler),
    ("kuwahara", threads::kuwahara),
    ("forest_vote", threads::forest_vote),
    ("capsule_clearance", threads::capsule_clearance),
    ("longest_orf", threads::longest_orf),
    ("sudoku", threads::sudoku),
    ("burning_ship", threads::burning_ship),
    ("miller_rabin", threads::miller_rabin),
    ("reed_solomon", threads::reed_solomon),
    ("base58", threads::base58),
    ("kalman_track", threads::kalman_track),
    ("bond_yield", threads::bond_yield),
    ("poly1305", threads::poly1305),
    ("glob_match", threads::glob_match),
    ("jaro_winkler", threads::jaro_winkler),
    ("adpcm", threads::adpcm),
    ("connect_four", threads::connect_four),
    ("cloth_forces", threads::cloth_forces),
    ("clip_area", threads::clip_area),
    ("dormand_prince", threads::dormand_prince),
    ("torsion_energy", threads::torsion_energy),
    ("row_moments", threads::row_moments),
    ("harris", threads::harris),
    ("tone_map", threads::tone_map),
    ("curvature3d", threads::curvature3d),
    ("photon_slab", threads::photon_slab),
    ("probe_energy", threads::probe_energy),
    ("ik_arm", threads::ik_arm),
    ("amortize", threads::amortize),
    ("quality_trim", threads::quality_trim),
    ("dictionary", threads::dictionary),
    ("walsh_hadamard", teams::walsh_hadamard),
    ("lamb_rows", teams::lamb_rows),
    ("pack_int4", teams::pack_int4),
    ("bit_planes", teams::bit_planes),
    ("kth_largest", teams::kth_largest),
    ("star_join", teams::star_join),
    ("wiener5", teams::wiener5),
    ("shallow_water", teams::shallow_water),
    ("sample_classify", teams::sample_classify),
    ("trsm32", teams::trsm32),
    ("cgemm", teams::cgemm),
    ("chi2_matrix", teams::chi2_matrix),
    ("bn_stats", teams::bn_stats),
    ("retention", teams::retention),
    ("expert_dispatch", teams::expert_dispatch),
    ("adaptive_simpson", teams::adaptive_simpson),
    ("rle_encode", teams::rle_encode),
    ("clahe_tables", teams::clahe_tables),
    ("spgemm_symbolic", teams::spgemm_symbolic),
    ("dot_twofold", teams::dot_twofold),
    ("recurrence_scan", teams::recurrence_scan),
    ("sandpile", teams::sandpile),
    ("bloom_join", teams::bloom_join),
    ("color_round", teams::color_round),
    ("prefix_hash", teams::prefix_hash),
    ("kl_rows", teams::kl_rows),
    ("wave_march", teams::wave_march),
    ("aggregate_groups", teams::aggregate_groups),
    ("gram_schmidt", teams::gram_schmidt),
    ("cordic_sincos", miscellany::cordic_sincos),
    ("soundex", miscellany::soundex),
    ("max_drawdown", miscellany::max_drawdown),
    ("gf2_rank", miscellany::gf2_rank),
    ("natural_order", miscellany::natural_order),
    ("lcs_bits", miscellany::lcs_bits),
    ("curl3d", miscellany::curl3d),
    ("durand_kerner", miscellany::durand_kerner),
    ("unsharp_u16", miscellany::unsharp_u16),
    ("totient_sum", miscellany::totient_sum),
    ("knapsack", miscellany::knapsack),
    ("turtle_bounds", miscellany::turtle_bounds),
    ("synth_dyn", miscellany::synth_dyn),
    ("mat_exp4", miscellany::mat_exp4),
    ("inversions", miscellany::inversions),
    ("dfa_scan", miscellany::dfa_scan),
    ("otsu_tiles", miscellany::otsu_tiles),
    ("aho_corasick", miscellany::aho_corasick),
    ("pcg64_jump", miscellany::pcg64_jump),
    ("url_decode", miscellany::url_decode),
    ("jump_flood3d", miscellany::jump_flood3d),
    ("mesh_normals", miscellany::mesh_normals),
    ("riccati", miscellany::riccati),
    ("ring_convolve", miscellany::ring_convolve),
    ("line_starts", miscellany::line_starts),
    ("pair_counts", miscellany::pair_counts),
    ("sinkhorn", miscellany::sinkhorn),
    ("simplex_project", miscellany::simplex_project),
    ("legendre_sum", miscellany::legendre_sum),
    ("path_budget", miscellany::path_budget),
    ("palindrome", miscellany::palindrome),
    ("fov_lights", miscellany::fov_lights),
    ("nussinov", miscellany::nussinov),
    ("rule_automaton", miscellany::rule_automaton),
    ("power_iteration", miscellany::power_iteration),
    ("stable_match", miscellany::stable_match),
    ("fuzzy_score", variety::fuzzy_score),
    ("thin_film", variety::thin_film),
    ("queue_waits", variety::queue_waits),
    ("quadrupole", variety::quadrupole),
    ("iban_check", variety::iban_check),
    ("fixed_pendulum", variety::fixed_pendulum),
    ("levinson", variety::levinson),
    ("vincenty", variety::vincenty),
    ("polar_rotation", variety::polar_rotation),
    ("dyn_quantile", variety::dyn_quantile),
    ("blend_layers", variety::blend_layers),
    ("local_peaks3d", variety::local_peaks3d),
    ("allen_cahn3d", variety::allen_cahn3d),
    ("image_charges", variety::image_charges),
    ("kummer", variety::kummer),
    ("ordinal_patterns", variety::ordinal_patterns),
    ("interval_overlap", variety::interval_overlap),
    ("aliquot", variety::aliquot),
    ("sessionize", variety::sessionize),
    ("ransac_line", variety::ransac_line),
    ("hausdorff", variety::hausdorff),
    ("ssim_blocks", variety::ssim_blocks),
    ("benford", variety::benford),
    ("nl_means", variety::nl_means),
    ("rank_transform", variety::rank_transform),
    ("simhash", variety::simhash),
    ("ldpc_minsum", variety::ldpc_minsum),
    ("amdf_pitch", variety::amdf_pitch),
    ("hashgrid_f16", variety::hashgrid_f16),
    ("roman_sum", variety::roman_sum),
    ("mod_inverse", variety::mod_inverse),
    ("sir_paths", variety::sir_paths),
    ("underwater", variety::underwater),
];
