package clients

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// object is JSON of a request or a response.
type object = map[string]any

// command is what a test asks a client to do.
type command struct {
	Do       string      `json:"do"` // new, call, render, inserted, prompt, prompts, visitor or webhook
	Settings *settings   `json:"settings,omitempty"`
	Name     string      `json:"name,omitempty"` // of a call, as x-sdk; of a prompt
	Args     []string    `json:"args,omitempty"` // parameters of the path
	Body     any         `json:"body,omitempty"`
	HasBody  bool        `json:"has_body"`
	Query    object      `json:"query,omitempty"`
	HasQuery bool        `json:"has_query"`
	Options  callOptions `json:"options"`

	Version object         `json:"version,omitempty"`
	Values  object         `json:"values,omitempty"`
	Mode    string         `json:"mode,omitempty"`
	Prompt  *promptOptions `json:"prompt,omitempty"`
	Count   int            `json:"count,omitempty"` // of calls at the same time

	Text    string            `json:"text,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Secrets []string          `json:"secrets,omitempty"`
	Now     int64             `json:"now,omitempty"`
}

type settings struct {
	Base       string `json:"base"`
	Token      string `json:"token,omitempty"`
	Refreshes  bool   `json:"refreshes,omitempty"` // the token comes from a function
	Workspace  string `json:"workspace,omitempty"`
	MaxRetries int    `json:"max_retries"`
	TimeoutMS  int    `json:"timeout_ms"`
}

type callOptions struct {
	IfMatch        string `json:"if_match,omitempty"`
	IfNoneMatch    string `json:"if_none_match,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	Token          string `json:"token,omitempty"`
	All            bool   `json:"all,omitempty"`   // all items of a list
	Count          int    `json:"count,omitempty"` // events of a stream
	First          int    `json:"first,omitempty"` // rows of a stream
}

type promptOptions struct {
	Ref      string  `json:"ref,omitempty"`
	TTL      float64 `json:"ttl"`
	MaxStale float64 `json:"max_stale"`
	Fallback string  `json:"fallback,omitempty"`
	Key      string  `json:"key,omitempty"`

	FallbackAfter float64 `json:"fallback_after,omitempty"` // in seconds
}

// result is what a client did.
type result struct {
	Value    any       `json:"value"`
	ETag     string    `json:"etag"`
	Replayed bool      `json:"replayed"`
	Text     string    `json:"text"` // how the client prints itself
	Error    *failure  `json:"error"`
	Attempts []attempt `json:"attempts"`
	Event    *struct {
		Name string `json:"name"`
		Data any    `json:"data"`
	} `json:"event"`
}

type failure struct {
	Kind       string  `json:"kind"` // api, connection, not_modified, render, webhook, secret or other
	Code       string  `json:"code"`
	Status     int     `json:"status"`
	RetryAfter float64 `json:"retry_after"`
	RequestID  string  `json:"request_id"`
	Text       string  `json:"text"` // everything that a log of it could show
}

// attempt is what the client's observer was told.
type attempt struct {
	Name   string `json:"name"`
	Number int    `json:"number"`
	Status int    `json:"status"`
	Again  bool   `json:"again"`
}

// driver makes the calls of one client.
type driver interface {
	// do does what a command says. It gives each event of a stream to events.
	do(t *testing.T, c command, events func(name string)) result
}

// process is a driver in a process of its own.
type process struct {
	in  io.Writer
	out *bufio.Reader
}

func startDriver(t *testing.T, name string, args ...string) driver {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*", "PYTHONDONTWRITEBYTECODE=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{in, bufio.NewReader(out)}
}

func (p *process) do(t *testing.T, c command, events func(name string)) result {
	t.Helper()
	line, err := json.Marshal(c)
	require.NoError(t, err)
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("the client's process has ended: %v", err)
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the client's process has ended: %v", err)
		}
		var r result
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Event == nil {
			return r
		}
		if events != nil {
			events(r.Event.Name)
		}
	}
}

// languages start a driver of each client.
var languages = map[string]func(*testing.T) driver{
	"Go": func(*testing.T) driver { return &goDriver{} },
	"TypeScript": func(t *testing.T) driver {
		driver, err := filepath.Abs("testdata/driver.mjs")
		require.NoError(t, err)
		return startDriver(t, services.Node(t), driver, filepath.Join(compiled(t), "index.js"))
	},
	"Python": func(t *testing.T) driver {
		return startDriver(t, services.Python(t), "testdata/driver.py", "../../clients/python")
	},
}

// inEach runs a test with the client of each language.
func inEach(t *testing.T, test func(t *testing.T, d driver)) {
	t.Helper()
	for _, name := range []string{"Go", "TypeScript", "Python"} {
		t.Run("in "+name, func(t *testing.T) { test(t, languages[name](t)) })
	}
}
