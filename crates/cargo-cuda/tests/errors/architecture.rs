//! Features that only newer architectures have.
//@ no-snapshot

use cuda_std::prelude::*;

#[kernel(cluster_dims(2))]
fn cluster(to: PerThread<u32>) {
    //~^ ERROR clusters require the architecture `sm_90`, but the program is compiled for `sm_75`
    for (_, to) in { to }.own() {
        *to = cuda_std::cluster::block_rank();
        //~^ ERROR requires the architecture `sm_90`, but the program is compiled for `sm_75`
        //~| HELP the option `arch` in the environment variable `NVVM_OPTIONS`
    }
}

fn main() {}
