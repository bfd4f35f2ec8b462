//go:build race

package confine

// Under the race detector the kernel's memory limit is not set: it would count the terabytes that the detector
// reserves. Such binaries are built only for tests.
const (
	raceDetector = true
	slower       = 10 // as often is a job allowed its processor time: the detector takes it
)
