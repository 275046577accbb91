package spawn

// arch is this machine's number in a filter of system calls.
const arch uint32 = archARM
