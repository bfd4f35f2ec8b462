//go:build !race

package confine

const (
	raceDetector = false
	slower       = 1
)
