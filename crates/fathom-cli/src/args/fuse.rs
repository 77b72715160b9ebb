//! The options of `fathom lab fuse`.

use std::path::PathBuf;

use clap::Args;

/// What `--plan` takes. Indented by four, so that Markdown leaves the lines as they are.
const SETTINGS: &str = "\
Settings of --plan. BYTES and N are whole numbers; TIME is a number with a unit, such as 250us or 10ms:

    block=BYTES        size of a block, a power of two (4096)
    size=BYTES         size of the file system (1 GiB)
    call=TIME          what each call takes
    rtt=TIME           added to each request to the server, those that look names up and close files included
    page=TIME          added to a read for each page of 4 KiB
    cold=TIME          added to a read of what the server has not read since it was written
    ahead=BYTES        what the server reads ahead after two reads in order, where cold= is given
    new_block=TIME     added to a write for each new block
    flush=TIME         added to the close of a file
    attr=TIME          how long the kernel may keep attributes (3600s)
    entry=TIME         how long it may keep what a name stands for (3600s)
    negative=TIME      how long it may keep that a name does not exist (0)
    max_read=BYTES     most that one request reads
    max_write=BYTES    most that one request writes (1 MiB)
    threads=N          requests that are served at once (2)
    background=N       requests for read-ahead and writeback that the kernel sends at once (16)
    cache=writeback    the kernel keeps what is written until the file is closed
    write=late         the file system keeps what is written until the file is closed, as sshfs does
    open=direct        files bypass the page cache
    open=drops         what is cached of a file goes when it is opened
    unlink=hides       a file that is removed while open is renamed until it is closed, as by libfuse
    stripe=BYTES       files declare stripes of so many bytes, a multiple of 64 KiB (none; 4 MiB with one of the next two)
    stripes=N          files declare that their parts alternate between so many objects (1)
    layout=ceph        stripes are declared as CephFS does; layout=lustre: as Lustre does
    st_blocks=length   st_blocks shows the length of a file; st_blocks=BYTES the same for each file
    eio=CALL@N         the Nth call fails with EIO; N+ means the Nth and all later ones
    eintr=CALL@N       the Nth call fails with EINTR
    short=CALL@N       the Nth call moves half of its bytes
    hang=CALL@N:TIME   the Nth call is answered so much later
    enospc=BYTES       writes fail with ENOSPC after so many bytes

CALL is read, write, fsync, open, create, mkdir, unlink, rename, rmdir, stat, truncate, readdir or statfs;
each is counted from the mount on.";

#[derive(Debug, Args)]
#[command(after_help = SETTINGS)]
pub(crate) struct FuseOptions {
    /// An empty directory to mount it on.
    pub(crate) dir: PathBuf,
    /// How the file system behaves: settings of the list below, separated by commas, such as rtt=2ms,eio=write@5.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "SETTINGS")]
    pub(crate) plan: String,
}
