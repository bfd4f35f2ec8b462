//go:build !linux

package main

import "runtime/debug"

// releaseMemory returns the memory that only the start needed.
func releaseMemory() { debug.FreeOSMemory() }
