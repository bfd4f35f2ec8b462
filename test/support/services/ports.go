package services

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePort returns a port of 127.0.0.1 on which nobody listens, for a server whose port must be known before it starts.
// Neither an outgoing connection nor a listener on port 0 can take it meanwhile, since it is below the range from which
// Linux assigns ports (32768 to 60999 by default).
func FreePort() (int, error) {
	const first, end, most = 10_000, 32_768, 100
	for range most {
		if port := first + rand.IntN(end-first); isFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("%d ports between %d and %d are all in use", most, first, end)
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
