package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/application/connections"
	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Site is the sample site: a page with a chat, and the program that answers its visitors. It listens on the loopback
// interface at the same port after each start, since the chat's connection names it.
type Site struct {
	listener net.Listener
	file     string
	reply    chat.Reply // of a chat that it answers; zero if it is not connected

	mu    sync.Mutex
	known knownSite
}

// knownSite is a site file's content. Visitors of the page can also see the embed token.
type knownSite struct {
	Addr  string `json:"addr"`
	Token string `json:"embed_token"`
}

// OpenSite listens for the sample site. It returns nil if the demo does not reach this machine (see ReachThisMachine),
// or if another program has the port that the site had before.
func OpenSite(ctx context.Context, c configs.Config) (*Site, error) {
	if !reachesThisMachine(c) {
		return nil, nil //nolint:nilnil // there is no site
	}
	s := &Site{file: filepath.Join(c.Data, "demo-site.json"), known: knownSite{Addr: "127.0.0.1:0"}}
	text, err := os.ReadFile(s.file)
	if err == nil {
		err = json.Unmarshal(text, &s.known)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.known.Addr); err != nil {
		return nil, nil //nolint:nilnil,nilerr // there is no site
	}
	s.known.Addr = s.listener.Addr().String()
	return s, nil
}

// URL returns the address of the page, or "".
func (s *Site) URL() string {
	if s == nil || s.token() == "" {
		return ""
	}
	_, port, _ := strings.Cut(s.known.Addr, ":")
	return "http://localhost:" + port + "/"
}

func (s *Site) token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known.Token
}

// Serve serves the page and answers visitors until ctx ends. atrium is the URL of the API.
func (s *Site) Serve(ctx context.Context, atrium string) {
	routes := http.NewServeMux()
	routes.HandleFunc("POST /replies", answer)
	routes.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		var page bytes.Buffer
		if err := sitePage.Execute(&page, map[string]string{"Atrium": atrium, "Token": s.token()}); err == nil {
			_, _ = w.Write(page.Bytes())
		}
	})
	server := &http.Server{Handler: routes, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	_ = server.Serve(s.listener) // the demo continues without it
}

// connect creates the connection to the site.
func (s *Site) connect(ctx context.Context, service *connections.Service, by identity.Actor) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	credential, err := json.Marshal(map[string]string{
		"url":            "http://" + s.known.Addr + "/replies",
		"signing_secret": "whsec_" + base64.StdEncoding.EncodeToString(key),
	})
	if err != nil {
		return err
	}
	trial, err := service.Probe(ctx, by, connection.Draft{Kind: connection.ReplyEndpoint, Name: "Sample site",
		Entry: connection.Entry{Credential: credential}}, nil)
	if err != nil {
		return err
	}
	created, err := service.Create(ctx, by, trial)
	if err == nil {
		s.reply = chat.Reply{Kind: chat.HTTPReply, Connection: created.ID,
			Variables: json.RawMessage(`{"company":"Demo shop","articles":[]}`)}
	}
	return err
}

// answers reports whether a chat can have s answer.
func (s *Site) answers() bool { return s != nil && s.reply.Answers() }

// show creates an embed token for the page, and remembers it.
func (s *Site) show(ctx context.Context, service *embeds.Service, by identity.Actor, template chat.ID) error {
	name, origins := "Sample site", []string{"http://localhost:*"}
	_, token, err := service.Create(ctx, by, template, embed.Changes{Name: &name, Origins: &origins})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.Token = token.Reveal()
	text, err := json.Marshal(s.known)
	if err != nil {
		return err
	}
	return os.WriteFile(s.file, text, 0o600)
}

var sitePage = template.Must(template.New("site").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>Demo shop</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere}</style>
<h1>Demo shop</h1>
<p>This page is not part of Atrium. One line of HTML adds the chat to it:</p>
<pre><code>&lt;script src="{{.Atrium}}/embed.js" data-token="{{.Token}}"&gt;&lt;/script&gt;</code></pre>
<p>A sample program replies with fixed texts. To reply with your own program or model, see docs/replies.md.</p>
<script src="{{.Atrium}}/embed.js" data-token="{{.Token}}" data-lang="en"></script>
</html>
`))
