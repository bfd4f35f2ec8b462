package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestBombs sends small requests that are expensive to process. Each must get a response within a second (asserted when
// proving), and together they may grow the heap by at most the limit of one request.
func TestBombs(t *testing.T) {
	t.Parallel()
	// By default, the collector lets the heap grow to five times of what was in use at its last cycle. How much that
	// was depends on the moment, above all on a busy machine.
	frequentCall := func(d *deployment) { d.env = append(d.env, "GOGC=100") }
	s := start(t, sqlite, toShops, frequentCall, set("metrics.addr", "127.0.0.1:0"))
	ann := s.user(t, "owner")
	template := ann.template(t, "bombed")
	chat := chats + "/" + ann.create(t, chats, object{"name": "bombed"}).at("id")
	lines := func(format string) string { return strings.TrimSuffix(strings.Repeat(format+"\n", 19_000), "\n") }
	text := func(n int, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, ",")
	}
	ann.create(t, template+"/versions", object{"text": lines("a"), "labels": []string{"old"}})
	ann.create(t, template+"/versions", object{"text": text(19_000, "\n%d"), "labels": []string{"new"}})
	ann.get(t, "/api/me")
	previous := s.heap(t)

	const patch, post = "PATCH", "POST"
	for name, tt := range map[string]struct {
		method, path string
		body         any
		status       int
		headers      []string
	}{
		"a merge patch of 19,000 members": {patch, chat, `{"metadata":{` + text(19_000, `"k%d":{}`) + `}}`,
			422, nil},
		"a merge patch 31 deep, over and over": {patch, chat, `{"metadata":{` + text(600, `"k%d":`+strings.Repeat(`{"a":`, 28)+"null"+strings.Repeat("}", 28)) + `}}`, 422, nil},
		"60,000 brackets":                      {post, templates, strings.Repeat("[", 60_000), 400, nil},
		"a megabyte of brackets":               {post, template + "/versions", `{"text":"x","tools":` + strings.Repeat("[", 1_000_000), 400, nil},
		"a megabyte of zeros":                  {post, template + "/versions", `{"text":"x","response_format":{"a":[0` + strings.Repeat(",0", 500_000) + `]}}`, 422, nil},
		"100,000 unknown members": {post, template + "/versions", `{` + text(100_000, `"%d":0`) + `}`,
			422, nil},
		"19,000 unknown members": {post, template + "/versions", `{` + text(19_000, `"%d":0`) + `}`, 422, nil},
		"one name 10,000 times": {post, templates,
			`{"metadata":{"a":0` + strings.Repeat(`,"a":0`, 10_000) + `}}`, 400, nil},
		"a name of 60,000 characters": {post, templates, `{"` + strings.Repeat("n", 60_000) + `":1}`, 422, nil},
		"8,000 tags that differ": {post, templates, `{"name":"x","tags":[` + text(8_000, `"%d"`) + `]}`, 422,
			nil},
		"15,000 tags that do not": {post, templates, `{"name":"x","tags":["a"` + strings.Repeat(`,"a"`, 15_000) + `]}`,
			422, nil},
		"a number of a million digits": {post, template + "/versions",
			`{"text":"x","model_config":{"temperature":` + strings.Repeat("9", 1_000_000) + `}}`, 422, nil},
		"an exponent without end": {post, template + "/versions",
			`{"text":"x","model_config":{"temperature":1e` + strings.Repeat("9", 60) + `}}`, 422, nil},
		"2,000 origins": {post, chat + "/embed-tokens", `{"name":"x","allowed_origins":[` +
			text(2_000, `"https://a%d.example"`) + `]}`, 422, nil},
		"a host of 60,000 letters": {post, chat + "/embed-tokens",
			object{"name": "x", "allowed_origins": []string{"https://" + strings.Repeat("ß.", 20_000)}}, 422, nil},
		"an address of 60,000 characters": {post, "/api/workspaces/" + ann.workspace + "/invitations",
			object{"email": strings.Repeat("a@", 30_000), "role": "viewer"}, 422, nil},
		"100 refs that are not there": {post, templates + "/resolve",
			object{"refs": slices.Repeat([]object{{"name": strings.Repeat("n", 255), "ref": strings.Repeat("r", 36)}},
				100)}, 200, nil},
		"sections over long lists": {post, template + "/render",
			object{"ref": "old", "variables": object{"a": slices.Repeat([]int{0}, 15_000)}}, 200, nil},
		"two texts without a line in common": {"GET", template + "/versions/new/diff?against=old", nil, 200, nil},
		"a key of 14,000 bits": {post, connections,
			object{"kind": "snowflake", "credential": object{"account": "xy12345.eu-central-1", "username": "u",
				"private_key": largeKey(t), "warehouse": "w"}}, 422, nil},
		"an Accept of nothing but commas": {"GET", template, nil, 406,
			[]string{"Accept: " + strings.Repeat(",", 25_000)}},
		"an Accept of 6,000 ranges": {"GET", template, nil, 406,
			[]string{"Accept: x/y" + strings.Repeat(",x/y", 6_000)}},
		"an If-Match of 2,500 tags": {patch, template, "{}", 400,
			[]string{"If-Match: " + text(2_500, `"9%d-x"`)}},
		"an If-None-Match of 2,500 tags": {"GET", template, nil, 400,
			[]string{"If-None-Match: " + text(2_500, `"9%d-x"`)}},
		"a token of 25,000 dots": {"GET", template, nil, 401,
			[]string{"Authorization: Bearer " + strings.Repeat(".", 25_000)}},
		"a search of wildcards":         {"GET", templates + "?q=" + strings.Repeat("%25_", 50), nil, 200, nil},
		"a filter of 25,000 characters": {"GET", templates + "?tag=" + strings.Repeat("x", 25_000), nil, 400, nil},
	} {
		t.Run(name, func(t *testing.T) {
			begin, cost := time.Now(), s.spent(t)
			a := ann.do(t, tt.method, tt.path, tt.body, tt.headers...)
			took, cost := time.Since(begin), s.spent(t)-cost
			if a.status != tt.status {
				t.Errorf("%.600s\nwant %d", a, tt.status)
			}
			if proof.Running() && cost > time.Second {
				t.Errorf("it took %v of the processor's time", cost)
			}
			if a.status >= 400 && len(a.text) > 32<<10 {
				t.Errorf("the refusal has %d bytes", len(a.text))
			}
			t.Logf("%v, and %v of the processor's time", took.Round(time.Millisecond), cost)
		})
	}
	if grown := s.heap(t) - previous; grown > mostGrowth {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	} else {
		t.Logf("the heap grew by %d MiB", grown>>20)
	}
}

// spent returns the CPU time of a process, in hundredths of a second (proc(5), stat).
func (s *server) spent(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	require.NoError(t, err)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int
	for _, field := range fields[11:13] { // user and system
		n, err := strconv.Atoi(field)
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// largeKey returns an RSA private key of the maximum accepted size, whose factors are not prime.
func largeKey(t *testing.T) string {
	t.Helper()
	number := func(bits int) *big.Int {
		b := make([]byte, bits/8)
		_, _ = rand.Read(b)
		b[0], b[len(b)-1] = b[0]|0x80, b[len(b)-1]|1
		return new(big.Int).SetBytes(b)
	}
	p, q := number(7000), number(7000)
	der, err := asn1.Marshal(struct {
		Version          int
		N                *big.Int
		E                int
		D, P, Q, X, Y, Z *big.Int
	}{0, new(big.Int).Mul(p, q), 65537, number(160), p, q, big.NewInt(1), big.NewInt(1), big.NewInt(1)})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, pem.Encode(&text, &pem.Block{Type: "RSA PRIVATE KEY", Bytes: der}))
	return text.String()
}
