package chaos

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// publicHost is the host name of deploy/nginx.conf and deploy/atrium.yaml.
const publicHost = "atrium.example.com"

// TestRollingRestartsBehindNginx restarts nodes one after the other, as docs/deployment.md says, behind nginx with
// deploy/nginx.conf, while 100 requests a second and some streams go through it. No request may fail, and no write
// may be lost or done twice.
func TestRollingRestartsBehindNginx(t *testing.T) {
	for _, nodes := range []int{2, 3} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			c := newCluster(t, nodes)
			c.start(t)
			token := c.Owner(t, suite.Binary(t), "ann@example.com")
			requests := newTraffic(t, c.address, c.authority, token)
			requests.begin()
			for range proof.Sample(1, 20) {
				for i := range c.nodes {
					c.nodes[i].Stop(t)
					c.nodes[i] = c.startNode(t, i)
					proof.Eventually(t, "a node is ready", func() bool { return isReady(c.nodes[i]) },
						c.nodes[i].Output)
				}
			}
			requests.end()
			var records int
			require.NoError(t, c.Open(t).QueryRow(`SELECT COUNT(*) FROM prompt_templates`).Scan(&records))
			if records != requests.created {
				t.Errorf("%d writes were acknowledged, and %d are stored", requests.created, records)
			}
			t.Logf("%d requests, slowest %s; %d streams were opened", requests.sent,
				requests.slowest.Round(time.Millisecond), requests.opened)
		})
	}
}

// cluster is some nodes behind nginx, as deploy/ describes them.
type cluster struct {
	*program.Deployment
	ports     []uint16
	nodes     []*program.Node
	address   string // of nginx
	authority *fixture.Authority
}

func newCluster(t *testing.T, nodes int) *cluster {
	t.Helper()
	config := strings.Replace(example(t, "atrium.yaml"), "10.0.0.10", "127.0.0.1", 1)
	d := program.Deploy(t, services.Postgres(t), config,
		"ATRIUM_SERVER_RATE_LIMIT_PER_MINUTE=1000000", "ATRIUM_SERVER_RATE_LIMIT_BURST=1000000",
		"ATRIUM_SERVER_CONCURRENCY_PER_CALLER=1000", "ATRIUM_SERVER_CONCURRENCY_PER_WORKSPACE=1000")
	if !proof.Running() { // longer than nginx's timeout to connect, after which a request needs the other node
		d.Env = append(d.Env, "ATRIUM_SERVER_DRAIN=2s")
	}
	c := &cluster{Deployment: d, authority: fixture.NewAuthority(t)}
	servers := ""
	proxy := regexp.MustCompile(`(?m)^    server 10\.0\.0\.\d+:8080(.*)\n`)
	found := proxy.FindStringSubmatch(example(t, "nginx.conf"))
	if found == nil {
		t.Fatal("deploy/nginx.conf has no line with a node")
	}
	for range nodes {
		port := fixture.FreePort(t)
		c.ports = append(c.ports, port)
		servers += fmt.Sprintf("    server 127.0.0.1:%d%s\n", port, found[1])
	}
	upstream := regexp.MustCompile(`(?m)(^    server 10\.0\.0\.\d+:8080.*\n)+`)
	text := upstream.ReplaceAllLiteralString(example(t, "nginx.conf"), servers)
	text = strings.NewReplacer("listen 80;", "listen unix:FOLDER/plain;", "listen 443 ", "listen 127.0.0.1:PORT ",
		"/etc/nginx/", "").Replace(text)
	certificate, key := c.authority.Sign(t, 24*time.Hour, publicHost)
	c.address = services.Nginx(t, text, map[string]string{"atrium.crt": certificate, "atrium.key": key})
	return c
}

// start starts every node.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	for i := range c.ports {
		c.nodes = append(c.nodes, c.startNode(t, i))
	}
}

// startNode starts a node at the port that nginx knows.
func (c *cluster) startNode(t *testing.T, i int) *program.Node {
	t.Helper()
	d := *c.Deployment
	d.Env = append(slices.Clone(d.Env), fmt.Sprintf("ATRIUM_SERVER_ADDR=127.0.0.1:%d", c.ports[i]))
	n := d.Start(t, suite.Binary(t))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("a node at %s wrote: %s", n.URL, n.Output)
		}
	})
	return n
}

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(suite.Root, "deploy", name))
	require.NoError(t, err)
	return string(text)
}

func isReady(n *program.Node) bool {
	resp, err := http.Get(n.URL + "/api/health/ready")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// traffic is what people send through the proxy: every 10 ms a read or a write, and some streams.
type traffic struct {
	t      *testing.T
	token  string
	client http.Client
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu            sync.Mutex
	sent, created int
	opened        int // streams
	slowest       time.Duration
}

const (
	interval = 10 * time.Millisecond
	inFlight = 100 // requests at most: a machine that is too slow for the interval would collect ever more
	readers  = 4   // of streams
)

func newTraffic(t *testing.T, address string, authority *fixture.Authority, token string) *traffic {
	t.Helper()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return &traffic{t: t, token: token, client: http.Client{Transport: &http.Transport{
		DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: authority.Pool()},
		MaxIdleConnsPerHost: 100, IdleConnTimeout: 10 * time.Second,
	}}}
}

// begin sends requests until end.
func (f *traffic) begin() {
	f.ctx, f.cancel = context.WithCancel(f.t.Context())
	f.t.Cleanup(f.end)
	for range readers {
		f.group.Go(f.listen)
	}
	f.group.Go(func() {
		ticker, open := time.NewTicker(interval), make(chan struct{}, inFlight)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-f.ctx.Done():
				return
			case <-ticker.C:
			}
			select {
			case <-f.ctx.Done():
				return
			case open <- struct{}{}:
				f.group.Go(func() { f.send(n); <-open })
			}
		}
	})
}

// end stops sending, and waits for the responses.
func (f *traffic) end() {
	f.cancel()
	f.group.Wait()
	f.client.CloseIdleConnections()
}

// send sends a read or a write, which must succeed.
func (f *traffic) send(n int) {
	method, want, body := http.MethodGet, http.StatusOK, ""
	if n%5 == 0 { // the quota of prompt templates is 10000
		method, want, body = http.MethodPost, http.StatusCreated, fmt.Sprintf(`{"name": "rolling %d"}`, n)
	}
	// It does not end with the traffic: the test counts what was acknowledged.
	r, err := f.request(f.t.Context(), method, "/api/prompt-templates", body)
	if err != nil {
		f.t.Error(err)
		return
	}
	start := time.Now()
	resp, err := f.client.Do(r)
	if err != nil {
		f.t.Errorf("%s failed: %v", method, err)
		return
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != want {
		f.t.Errorf("%s returned %d: %.300s %v", method, resp.StatusCode, text, err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent++
	f.slowest = max(f.slowest, time.Since(start))
	if method == http.MethodPost {
		f.created++
	}
}

func (f *traffic) request(ctx context.Context, method, path, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, "https://"+publicHost+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+f.token)
	if body == "" {
		r.Body = http.NoBody
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// listen reads a stream as an EventSource of a browser does: it reconnects a second after the end, and gives up if the
// response is not a stream.
func (f *traffic) listen() {
	for f.ctx.Err() == nil {
		r, err := f.request(f.ctx, http.MethodGet, "/api/presence/stream", "")
		if err != nil {
			f.t.Error(err)
			return
		}
		resp, err := f.client.Do(r)
		if f.ctx.Err() != nil {
			return
		}
		if err != nil {
			f.t.Errorf("a stream failed: %v", err)
			return
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if f.ctx.Err() == nil && (err != nil || resp.StatusCode != http.StatusOK) {
			f.t.Errorf("a stream ended: %d, %v", resp.StatusCode, err)
			return
		}
		f.mu.Lock()
		f.opened++
		f.mu.Unlock()
		select {
		case <-f.ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
