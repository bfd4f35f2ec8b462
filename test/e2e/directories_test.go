package e2e

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// sequences are what a provider sends, as a file of testdata/directories describes it. A sequence begins with ##, a
// macro with its name; "use user ann" runs the macro user with {who} as ann. A request is followed by its body, if it
// has one, and by = with the status and members of the response, whose id > keeps under a name.
type sequences struct {
	provider string
	macros   map[string][]string
	all      []sequence
}

type sequence struct {
	name  string
	lines []string
}

// readSequences reads a provider's file. Each names its sources.
func readSequences(t *testing.T, file string) sequences {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	s := sequences{provider: strings.TrimSuffix(filepath.Base(file), ".txt"), macros: map[string][]string{}}
	var add func(line string)
	sources := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if macro, ok := strings.CutPrefix(line, "macro "); ok {
			add = func(line string) { s.macros[macro] = append(s.macros[macro], line) }
		} else if name, ok := strings.CutPrefix(line, "## "); ok {
			s.all = append(s.all, sequence{name: name})
			last := len(s.all) - 1
			add = func(line string) { s.all[last].lines = append(s.all[last].lines, line) }
		} else if strings.HasPrefix(line, "source https://") {
			sources++
		} else if line != "" && !strings.HasPrefix(line, "# ") {
			add(line)
		}
	}
	if sources == 0 {
		t.Fatalf("%s names no source", file)
	}
	return s
}

// dialogue sends the requests of a sequence.
type dialogue struct {
	*client
	macros map[string][]string
	names  map[string]string
}

var (
	requestLine = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) (/\S*?)(?:\?(.*))?$`)
	nameInText  = regexp.MustCompile(`\{(\w+)\}`)
)

// fill replaces {name} by what it stands for.
func (w *dialogue) fill(text string) string {
	return nameInText.ReplaceAllStringFunc(text, func(name string) string {
		return cmp.Or(w.names[strings.Trim(name, "{}")], name)
	})
}

func (w *dialogue) run(t *testing.T, lines []string) {
	t.Helper()
	var request, body string
	var last *answer
	for _, line := range lines {
		switch use, isUse := strings.CutPrefix(line, "use "); {
		case isUse:
			macro, who, _ := strings.Cut(use, " ")
			w.names["who"] = who
			w.run(t, w.macros[macro])
		case requestLine.MatchString(line):
			request, body = w.fill(line), ""
		case strings.HasPrefix(line, "= "):
			last = w.send(t, request, body)
			last.expects(t, w.fill(strings.TrimPrefix(line, "= ")))
		case strings.HasPrefix(line, "> "):
			w.names[w.fill(strings.TrimPrefix(line, "> "))] = last.at("id")
		default:
			body += w.fill(line)
		}
	}
}

// send sends a request, whose query is written without escapes.
func (w *dialogue) send(t *testing.T, request, body string) *answer {
	t.Helper()
	parts := requestLine.FindStringSubmatch(request)
	query := url.Values{}
	for pair := range strings.SplitSeq(parts[3], "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			query.Set(name, value)
		}
	}
	path := scim + parts[2]
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if body == "" {
		return w.do(t, parts[1], path, nil)
	}
	return w.do(t, parts[1], path, body)
}

// expects checks a status and members, with commas between them.
func (a *answer) expects(t *testing.T, text string) {
	t.Helper()
	status, rest, _ := strings.Cut(text, " ")
	code, err := strconv.Atoi(status)
	require.NoError(t, err)
	a.is(t, code)
	want := map[string]string{}
	for pair := range strings.SplitSeq(rest, ", ") {
		if name, value, ok := strings.Cut(pair, ": "); ok {
			want[name] = strings.Trim(value, `"`)
		}
	}
	if len(want) > 0 {
		a.has(t, want)
	}
}

// busyDirectory lets a directory send more requests than the default.
var busyDirectory = []option{set("server.rate_limit.per_minute", "60000"), set("server.rate_limit.burst", "10000")}

// TestDirectoriesAreUnderstood sends what identity providers send, each sequence about people and groups of its own.
func TestDirectoriesAreUnderstood(t *testing.T) {
	_, scimmer := directory(t, sqlite, "", busyDirectory...)
	files, err := filepath.Glob("testdata/directories/*.txt")
	require.NoError(t, err)
	count := 0
	for _, file := range files {
		s := readSequences(t, file)
		for i, one := range s.all {
			count++
			t.Run(s.provider+": "+one.name, func(t *testing.T) {
				w := dialogue{scimmer, s.macros, map[string]string{"n": s.provider + strconv.Itoa(i)}}
				w.run(t, one.lines)
			})
		}
	}
	if len(files) != 6 || count < 60 {
		t.Errorf("%d sequences of %d providers; want 60 of 6", count, len(files))
	}
}
