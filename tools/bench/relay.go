package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	relayPieces = 200
	relaySite   = "https://www.example.com"
	relayEach   = 400 // answers of each: a token has 600 calls a minute, so the token changes
)

// relay compares answers to visitors through Atrium with the same answers through a reverse proxy, in turns. Both keep
// their connections to the endpoint, which this program serves.
func relay(ctx context.Context, m *machine) error {
	m.section("Answers to visitors", "", "proxy: first piece, p50, p99", "Atrium: first piece, p50, p99",
		"more (aim ≤ 2 ms)", "more for each other piece (aim ≤ 0.1 ms)")
	return m.onEach(ctx, "relay", func(d database, data string) error { return m.relayOn(ctx, d, data) })
}

func (m *machine) relayOn(ctx context.Context, d database, data string) error {
	endpoint := httptest.NewServer(http.HandlerFunc(answersInPieces))
	defer endpoint.Close()
	to, err := url.Parse(endpoint.URL)
	if err != nil {
		return err
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
	}})
	defer proxy.Close()
	config := filepath.Join(m.dir, "relay.yaml")
	if err := os.WriteFile(config, []byte("orgs:\n  - slug: default\n    egress: {allow: [127.0.0.0/8]}\n"),
		0o600); err != nil {
		return err
	}
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	p, err := m.serveAtrium(ctx, d, data, "--config", config)
	if err != nil {
		return err
	}
	defer p.stop()
	sessions, err := chatThatAnswers(ctx, p, owner.Token, endpoint.URL)
	if err != nil {
		return err
	}
	var firsts, others [2][]time.Duration
	lost := 0 // the proxy of the library sometimes closes the connection of an answer
	for i := range relayEach {
		for k, address := range []string{proxy.URL, "http://" + p.addr + "/api/embed/messages"} {
			first, rest, err := answered(ctx, address, sessions[i%len(sessions)])
			if err != nil && k == 0 && lost < relayEach/50 {
				lost++
				continue
			}
			if err != nil {
				return fmt.Errorf("answer %d of %s: %w", i, address, err)
			}
			if i >= 20 { // both are warm
				firsts[k], others[k] = append(firsts[k], first), append(others[k], rest/(relayPieces-1))
			}
		}
	}
	for k := range firsts {
		slices.Sort(firsts[k])
		slices.Sort(others[k])
	}
	of := func(took []time.Duration) string { return ms(percentile(took, 50)) + ", " + ms(percentile(took, 99)) }
	m.row(d.named(), of(firsts[0]), of(firsts[1]),
		"**"+ms(percentile(firsts[1], 50)-percentile(firsts[0], 50))+"**",
		fmt.Sprintf("**%.3f ms**", (percentile(others[1], 50)-percentile(others[0], 50)).Seconds()*1e3))
	return nil
}

// answersInPieces is the endpoint.
func answersInPieces(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range relayPieces {
		if _, err := fmt.Fprintf(w, "data: {\"text\":\"piece %d \"}\n\n", i); err != nil {
			return // the other side is gone
		}
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// chatThatAnswers makes a chat that the endpoint answers, and returns sessions of different tokens.
func chatThatAnswers(ctx context.Context, p *program, token, endpoint string) (sessions []string, err error) {
	var connection, chat struct {
		ID string `json:"id"`
	}
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	if err := p.post(ctx, "/api/connections", token, fmt.Sprintf(
		`{"kind":"reply_endpoint","name":"Replies","credential":{"url":%q,"signing_secret":%q}}`, endpoint, secret),
		&connection); err != nil {
		return nil, err
	}
	if err := p.post(ctx, "/api/chat-templates", token, fmt.Sprintf(`{"name":"Support","status":"published",
		"instructions":"Be brief.","reply":{"kind":"http","connection_id":%q}}`, connection.ID), &chat); err != nil {
		return nil, err
	}
	for range 4 {
		var embed struct {
			Token string `json:"token"`
		}
		if err := p.post(ctx, "/api/chat-templates/"+chat.ID+"/embed-tokens", token, fmt.Sprintf(
			`{"name":"Site","allowed_origins":[%q],"rate_limit":{"per_minute":600},"replies_per_day":100000}`,
			relaySite), &embed); err != nil {
			return nil, err
		}
		session, err := openSession(ctx, p, embed.Token)
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, session)
	}
	return sessions, nil
}

func openSession(ctx context.Context, p *program, token string) (session string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.addr+"/api/embed/sessions",
		strings.NewReader(fmt.Sprintf(`{"token":%q}`, token)))
	if err != nil {
		return "", err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Origin": {relaySite}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(string(text), `"session":"`)
	if session, _, _ = strings.Cut(rest, `"`); !ok {
		return "", fmt.Errorf("a session: %d %s", response.StatusCode, text)
	}
	return session, nil
}

// answered sends a message, and returns how long the first piece of the answer took, and all others after it.
func answered(ctx context.Context, address, session string) (first, others time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{"text":"Where is it?"}`))
	if err != nil {
		return 0, 0, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + session},
		"Origin": {relaySite}}
	begun := time.Now()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	pieces := 0
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), `data: {"text"`) {
			continue
		}
		if pieces++; pieces == 1 {
			first = time.Since(begun)
		}
	}
	others = time.Since(begun) - first
	if err := lines.Err(); err != nil {
		return 0, 0, err
	}
	if response.StatusCode != http.StatusOK || pieces != relayPieces {
		return 0, 0, fmt.Errorf("%s: %d, %d pieces", address, response.StatusCode, pieces)
	}
	return first, others, nil
}
