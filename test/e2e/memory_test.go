package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// mostGrowth is the maximum growth of a server's heap by one request, in bytes.
const mostGrowth = 64 << 20

// TestMemory sends the valid requests that need the most memory, each to a server that has served nothing similar. It
// measures only the heap, because the race detector multiplies the rest.
func TestMemory(t *testing.T) {
	t.Parallel()
	numbers := make([]int, 80)
	for i := range numbers {
		numbers[i] = i
	}
	allowances := make([]object, 170)
	for i := range allowances {
		allowances[i] = object{"name": fmt.Sprint("v", i), "type": "number", "required": false, "enum": numbers}
	}
	full := object{
		"text": strings.Repeat("x", 256<<10), "variables": []object{},
		"tools":           []object{{"d": strings.Repeat("y", 255<<10)}},
		"response_format": object{"d": strings.Repeat("z", 255<<10)},
	}
	refs := make([]object, 12)
	for i := range refs {
		refs[i] = object{"ref": fmt.Sprint("v", i+1)}
	}
	for name, tt := range map[string]struct {
		kind     string // of the template
		version  object // each of
		versions int
		send     func(ann *client, template string) (*answer, error)
		status   int
	}{
		"the versions of a page, with all that their variables allow": {"text",
			object{"text": "x", "variables": allowances}, 100, func(ann *client, template string) (*answer, error) {
				return ann.try(t, "GET", template+"/versions?limit=100", nil)
			}, 200},
		"many versions at once": {"text", full, len(refs), func(ann *client, template string) (*answer, error) {
			for _, ref := range refs {
				ref["prompt_template_id"] = strings.TrimPrefix(template, templates+"/")
			}
			return ann.try(t, "POST", templates+"/resolve", object{"refs": refs})
		}, 200},
		"one version a hundred times": {"text", full, 1, func(ann *client, template string) (*answer, error) {
			return ann.try(t, "POST", templates+"/resolve",
				object{
					"refs": slices.Repeat([]object{{"prompt_template_id": strings.TrimPrefix(template, templates+"/"),
						"ref": "v1"}}, 100)})
		}, 200},
		"the largest version": {"text", object{"text": "x"}, 1, func(ann *client, template string) (*answer, error) {
			return ann.try(t, "POST", template+"/versions", full)
		}, 201},
		"a text of nothing but tags": {"text", object{"text": "x"}, 1,
			func(ann *client, template string) (*answer, error) {
				return ann.try(t, "POST", template+"/versions", object{"text": strings.Repeat("{{a}}", 52_000)})
			}, 201},
		"a body of as many values as there may be": {"text", object{"text": "x"}, 1,
			func(ann *client, template string) (*answer, error) {
				return ann.try(t, "POST", template+"/versions",
					object{"text": "x", "response_format": object{"a": slices.Repeat([]object{{}}, 19_900)}})
			}, 201},
		"a render of as many messages as there may be": {"chat",
			object{"messages": slices.Repeat([]object{{"placeholder": "p"}}, 40)}, 1,
			func(ann *client, template string) (*answer, error) {
				return ann.try(t, "POST", template+"/render",
					object{
						"ref": "v1", "variables": object{
							"p": slices.Repeat([]object{{"role": "user", "content": "x"}}, 900)}})
			}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployMigrated(t, sqlite, set("metrics.addr", "127.0.0.1:0"))
			first := d.start(t)
			ann := first.user(t, "member")
			template := templates + "/" + ann.create(t, templates, object{"name": "large", "type": tt.kind}).at("id")
			ann.create(t, template+"/versions", tt.version)
			first.stop(t)
			// The others are copies, because creating them is far slower than reading them.
			for n := 2; n <= tt.versions; n++ {
				d.sql(t, fmt.Sprintf(`INSERT INTO prompt_versions (%s) SELECT %s FROM prompt_versions WHERE number = 1`,
					versionColumns, strings.NewReplacer("id, template_id, number,",
						fmt.Sprintf("substr(id, 1, 27) || '%04d', template_id, %d,", n, n)).Replace(versionColumns)))
			}
			ann = ann.at(d.start(t))
			ann.get(t, "/api/me")
			previous := ann.server.heap(t)
			a, err := tt.send(ann, template)
			require.NoError(t, err)
			a.is(t, tt.status)
			grown := ann.server.heap(t) - previous
			t.Logf("the heap grew by %d MiB for an answer of %d KiB", grown>>20, len(a.text)>>10)
			if grown > mostGrowth {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

const versionColumns = `id, template_id, number, text, messages, format, variables, model_config, tools, response_format, content_hash, commit_message,
	frozen, first_activated_at, revision, created_by, created_at, updated_at`

var heapTaken = regexp.MustCompile(`(?m)^go_memstats_heap_sys_bytes (\S+)$`)

// heap returns the memory that the heap of a server has obtained from the system.
func (s *server) heap(t *testing.T) int {
	t.Helper()
	bytes, err := strconv.ParseFloat(heapTaken.FindStringSubmatch(s.metrics(t))[1], 64)
	require.NoError(t, err)
	return int(bytes)
}
