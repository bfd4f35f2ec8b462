//go:build cgo

package confine

// threadStacks is how much memory the C library reserves for the stacks of threads, in bytes: 8 MiB for each of some
// thirty, all of which counts as data. Releases are built without cgo; go run and go test may not be.
const threadStacks = 256 << 20
