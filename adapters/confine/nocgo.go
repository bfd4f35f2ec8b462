//go:build !cgo

package confine

const threadStacks = 0
