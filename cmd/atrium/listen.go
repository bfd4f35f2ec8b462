package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/domain/event"
)

type listenCommand struct {
	remoteFlags
	Forward string `required:"" help:"URL that gets the events: http://localhost:3000/hook." placeholder:"URL"`
	Types   string `help:"Only events of these types, with commas between them." placeholder:"TYPES"`
	After   *int64 `help:"Begin after the event with this seq. Default: the next event." placeholder:"SEQ"`
	Secret  string `help:"Secret to sign with. Default: a new one." placeholder:"whsec_…" env:"ATRIUM_WEBHOOK_SECRET"`
}

// Help implements kong.HelpProvider.
func (listenCommand) Help() string {
	return `Sends the events of a workspace to a program on this machine, as webhooks that are signed as Standard Webhooks
describes. The server needs no way to reach this machine. For development: an event whose delivery fails is not sent
again. It sends the events that your key can read: with the admin role, all of them. Run atrium login first.

Example:
  atrium listen --forward http://localhost:3000/hook --types prompt_template.activated`
}

// forwardFor is how long one delivery may take.
const forwardFor = 15 * time.Second

// Run implements the command.
func (c *listenCommand) Run(p *process) error {
	target, err := url.Parse(c.Forward)
	if err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https") {
		return usageError{errors.New("--forward must be a URL: http://localhost:3000/hook")}
	}
	key, err := c.signingKey(p)
	if err != nil {
		return err
	}
	client, err := p.connect(c.remoteFlags)
	if err != nil {
		return err
	}
	me, err := client.Me.Get(p.ctx)
	if err != nil {
		return err
	}
	if me.Workspace == nil {
		return usageError{errors.New("the key gives access to several workspaces: name one with --workspace")}
	}
	f := &forwarder{to: target.String(), key: key, workspace: me.Workspace.ID, client: &http.Client{
		Timeout:       forwardFor,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return p.follow(client, atrium.EventsStreamQuery{After: placeOf(c.After), Types: c.Types},
		func(e *atrium.Event) error {
			result, err := f.send(p.ctx, e)
			if err != nil {
				result = "failed: " + err.Error()
			}
			return p.print(false, nil, "%d\t%s\t%s\n", *e.Seq, e.Type, result)
		})
}

// signingKey returns the key of the secret, and prints a new one.
func (c *listenCommand) signingKey(p *process) ([]byte, error) {
	if c.Secret == "" {
		key := make([]byte, 32)
		if _, err := rand.Read(key); err != nil {
			return nil, err
		}
		return key, p.print(false, nil, "The secret of this run: whsec_%s\n", base64.StdEncoding.EncodeToString(key))
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(c.Secret), "whsec_"))
	if err != nil || len(key) < 24 {
		return nil, usageError{errors.New("--secret must be whsec_ and at least 24 bytes in base64")}
	}
	return key, nil
}

// forwarder sends events to one URL.
type forwarder struct {
	to        string
	key       []byte
	workspace string
	client    *http.Client
}

// send delivers an event once, and returns the status of the response.
func (f *forwarder) send(ctx context.Context, e *atrium.Event) (status string, err error) {
	payload := atrium.WebhookPayload{Type: e.Type, Timestamp: e.CreatedAt, Data: atrium.WebhookEvent{
		ID: e.ID, Seq: *e.Seq, WorkspaceID: f.workspace, Actor: e.Actor, Change: e.Data,
		Subject: atrium.WebhookSubject{ID: e.Subject, Type: event.SubjectType(e.Type), Revision: e.Revision},
	}}
	body, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.to, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, f.key)
	mac.Write([]byte(e.ID + "." + timestamp + "."))
	mac.Write(body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Atrium-listen")
	r.Header.Set("Webhook-Id", e.ID)
	r.Header.Set("Webhook-Timestamp", timestamp)
	r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	response, err := f.client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.CopyN(io.Discard, response.Body, 4<<10)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return fmt.Sprint(response.StatusCode), err
}
