package services

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

// redisScript keeps Redis. It stores nothing.
const redisScript = `
end=KILL
prepare() { :; }
serve() {
	exec "$1" --bind 127.0.0.1 --port "${2:-$port}" --dir "$folder" --save "" --appendonly no
}
`

// RedisServer is a Redis that a test may stop and start again where it was.
type RedisServer struct {
	*Server
	port string
}

// Redis starts a Redis on a port of 127.0.0.1 that was free, without a password. It ends with the test.
func Redis(t testing.TB) *RedisServer {
	t.Helper()
	server, err := startRedis("")
	if err != nil {
		t.Fatalf("this test needs Redis: %v\nInstall it (Debian: apt-get install redis-server; macOS: brew install "+
			"redis).", err)
	}
	r := &RedisServer{Server: server, port: server.URL[strings.LastIndexByte(server.URL, ':')+1:]}
	t.Cleanup(func() { r.Stop() })
	return r
}

// Restart starts it again on the same port, after Stop.
func (r *RedisServer) Restart() error {
	server, err := startRedis(r.port)
	if err == nil {
		r.Server = server
	}
	return err
}

func startRedis(port string) (*Server, error) {
	bin, err := redisBin()
	if err != nil {
		return nil, err
	}
	p := program{
		name: "redis", script: redisScript, args: []string{bin, port},
		url: func(free int) string {
			if port != "" {
				return "redis://127.0.0.1:" + port
			}
			return fmt.Sprintf("redis://127.0.0.1:%d", free)
		},
		ready: redisReady,
	}
	return p.start()
}

// redisReady speaks just enough of Redis's protocol.
func redisReady(ctx context.Context, url string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(url, "redis://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && answer != "+PONG\r\n" {
		err = errors.New("it does not answer as Redis does")
	}
	return err
}

// installRedis keeps the package's service from starting (policy-rc.d of Debian's invoke-rc.d).
func redisBin() (string, error) { return installed("redis-server", "redis-server") }
