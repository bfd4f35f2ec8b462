package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// chunks is an endpoint that sends n pieces of an answer, one when each tick passes; go is closed when it may begin.
func chunks(n int, tick time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		recipient := http.NewResponseController(w)
		for i := range n {
			if i > 0 && tick > 0 {
				select {
				case <-time.After(tick):
				case <-r.Context().Done():
					return
				}
			}
			_, _ = fmt.Fprintf(w, "data: {\"text\":\"piece %d \"}\n\n", i)
			_ = recipient.Flush()
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

// stream reads an answer, and returns when its first piece arrived after it was asked, and how many pieces it had.
func stream(
	client *http.Client, address, session, origin string, first func(),
) (firstByte time.Duration, pieces int, err error) {
	begin := time.Now()
	r, err := http.NewRequest("POST", address, strings.NewReader(`{"text":"Where?"}`))
	if err != nil {
		return 0, 0, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + session},
		"Origin": {origin}}
	response, err := client.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), `data: {"text"`) {
			if pieces++; pieces == 1 {
				firstByte = time.Since(begin)
				first()
			}
		}
	}
	if response.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("status %d", response.StatusCode)
	}
	return firstByte, pieces, lines.Err()
}

// TestManyAnswersAtTheSameTime prints what an answer costs in memory and how long its first piece takes, while all of
// them are under way on one node.
func TestManyAnswersAtTheSameTime(t *testing.T) {
	t.Parallel()
	n, perToken := proof.Sample(20, 500), 90
	s := start(t, sqlite, toShops)
	admin := s.user(t, "admin")
	bot := newReplies(t, chunks(proof.Sample(3, 20), time.Second))
	tokens := []*embeddedChat{}
	for range (n + perToken - 1) / perToken {
		tokens = append(tokens, admin.replying(t, bot, object{"rate_limit": object{"per_minute": 600}}))
	}
	passes := make([]string, n)
	for i := range passes {
		name := "visitor-" + strconv.Itoa(i)
		e := tokens[i/perToken]
		passes[i] = s.anonymous().do(t, "POST", sessions, object{"token": e.secret, "visitor": name,
			"visitor_signature": embed.SignVisitor(secret.New(e.visitorSecret), name, "", time.Now().Add(time.Hour)),
		}, fromShop).is(t, 200).at("session")
	}
	previous := s.resident(t)
	var underWay, done sync.WaitGroup
	underWay.Add(n)
	times := make([]time.Duration, n)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 0}}
	for i, session := range passes {
		done.Go(func() {
			var firstOnce sync.Once
			arrivedCall := func() { firstOnce.Do(underWay.Done) }
			defer arrivedCall()
			first, pieces, err := stream(client, s.url+messages, session, shop, arrivedCall)
			if err != nil || pieces != proof.Sample(3, 20) {
				t.Errorf("answer %d: %d pieces, %v", i, pieces, err)
			}
			times[i] = first
		})
	}
	underWay.Wait()
	active := s.resident(t)
	done.Wait()
	slices.Sort(times)
	size := (active - previous) / n
	t.Logf("%d answers at the same time: %d KiB each; first piece after %s (median), %s (95 %%), %s (slowest)",
		n, size>>10, times[n/2], times[n*95/100], times[n-1])
	if proof.Running() && size > 256<<10 {
		t.Errorf("an answer takes %d KiB, more than 256", size>>10)
	}
}

// TestTheRelayCostsLittle compares an answer through Atrium with one through a bare reverse proxy, in turns.
func TestTheRelayCostsLittle(t *testing.T) {
	t.Parallel()
	const pieces = 200
	s := start(t, sqlite, toShops)
	bot := newReplies(t, chunks(pieces, 0))
	e := s.user(t, "admin").replying(t, bot, object{"rate_limit": object{"per_minute": 600}})
	session := e.visit(t, fromShop).at("session")
	recipient, err := url.Parse(bot.url)
	require.NoError(t, err)
	// Transports of their own: every server that a test ends closes connections of the one that they would share.
	bare := &httputil.ReverseProxy{FlushInterval: -1, Transport: &http.Transport{},
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(recipient) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // else the server may close it while the transport looks for its end, which fails
		r.Body = io.NopCloser(bytes.NewReader(body))
		bare.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	client := &http.Client{Transport: &http.Transport{}}
	measure := func(address string) (first, rest time.Duration) {
		t.Helper()
		begin := time.Now()
		first, got, err := stream(client, address, session, shop, func() {})
		if err != nil || got != pieces {
			t.Fatalf("%d pieces, %v", got, err)
		}
		return first, (time.Since(begin) - first) / pieces
	}
	var firsts, rests [2][]time.Duration
	for range proof.Sample(3, 100) {
		for i, address := range []string{proxy.URL, s.url + messages} {
			first, rest := measure(address)
			firsts[i], rests[i] = append(firsts[i], first), append(rests[i], rest)
		}
	}
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	first := median(firsts[1]) - median(firsts[0])
	rest := median(rests[1]) - median(rests[0])
	t.Logf("over a bare proxy, the relay adds %s to the first piece and %s to each of the others (medians)", first,
		rest)
	proof.Within(t, "what the relay adds to the first piece", first, 2*time.Millisecond)
	proof.Within(t, "what the relay adds to a piece", rest, 100*time.Microsecond)
}

// TestBadEndpointsTellVisitorsNothing sends what no endpoint should. Visitors read a code and a sentence, in time.
func TestBadEndpointsTellVisitorsNothing(t *testing.T) {
	t.Parallel()
	const canary = "canary-9f27"
	var mode string
	bot := newReplies(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Secret", canary)
		switch mode {
		case "huge":
			w.Header().Set("Content-Type", "text/event-stream")
			for piece := strings.Repeat("x", 16<<10); ; {
				if _, err := fmt.Fprintf(w, "data: {\"text\":%q}\n\n", piece); err != nil {
					return
				}
			}
		case "endless line":
			w.Header().Set("Content-Type", "text/event-stream")
			for _, err := io.WriteString(w, "data: "); err == nil; {
				_, err = w.Write(bytes.Repeat([]byte("y"), 64<<10))
			}
		case "garbage":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {\"text\":\x00\xff " + canary + "\n\n"))
		case "reset":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"text\":\"Half\"}\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "redirect":
			http.Redirect(w, r, "http://127.0.0.1:1/"+canary, http.StatusTemporaryRedirect)
		case "page":
			_, _ = io.WriteString(w, "<html>"+canary)
		case "refusal":
			http.Error(w, canary, http.StatusForbidden)
		}
	})
	s := start(t, sqlite, toShops)
	e := s.user(t, "admin").replying(t, bot, object{"rate_limit": object{"per_minute": 600}})
	session := e.visit(t, fromShop).at("session")
	for _, tt := range []struct{ mode, code string }{
		{"huge", "reply_too_large"}, {"endless line", "reply_"}, {"garbage", "reply_failed"}, {"reset", "reply_failed"},
		{"redirect", "reply_failed"}, {"page", "reply_failed"}, {"refusal", "reply_failed"},
	} {
		mode = tt.mode
		a := e.says(t, session, object{"text": "Where?"}, fromShop).is(t, 200)
		last := a.text[strings.LastIndex(a.text, "event: "):]
		var failure struct{ Code, Detail string }
		_, data, _ := strings.Cut(last, "data: ")
		if err := json.Unmarshal([]byte(strings.TrimSpace(data)), &failure); err != nil ||
			!strings.HasPrefix(failure.Code, tt.code) || failure.Detail == "" {
			t.Errorf("%s: the answer ends with %q", tt.mode, last)
		}
		for name, text := range map[string]string{"the visitor": a.text, "the log": s.stderr.String()} {
			if strings.Contains(text, canary) {
				t.Errorf("%s: %s reads what the endpoint sent", tt.mode, name)
			}
		}
	}
}
