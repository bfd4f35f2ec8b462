// Package collector sets how often this process collects garbage. To initialise all packages allocates 6 MB, after
// which nearly all is still in use, so Go's default would collect twice before main: a third of a short command's CPU
// time. Go initialises packages in the order of their paths, each as soon as those that it imports are: this one
// imports little, so it precedes those that allocate most. That is tested in test/e2e.
package collector

import (
	"os"
	"runtime/debug"
)

// gcPercent lets the heap grow further between collections than Go's 100. A server's live heap is about 10 MB, so that
// the default collects hundreds of times per second under load. 400 costs about 15 MB, and saves 10 to 20 % of the CPU
// for each request.
const gcPercent = 400

// memoryLimit bounds that growth, in bytes. With only gcPercent, a burst of large requests, whose live heap is about
// 100 MB, could take 500 MB before a collection. The limit is soft: above it the collector runs more often, but a
// server that needs more memory gets it.
const memoryLimit = 512 << 20

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
