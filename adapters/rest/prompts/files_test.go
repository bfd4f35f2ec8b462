package prompts

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// archive returns a zip archive. A path that ends with -> is a link.
func archive(t *testing.T, files ...[2]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: strings.TrimSuffix(f[0], "->"), Method: zip.Deflate}
		if h.Name != f[0] {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		entry, err := w.CreateHeader(h)
		if err == nil {
			_, err = entry.Write([]byte(f[1]))
		}
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestArchivesAreUnpackedWithinBounds(t *testing.T) {
	room := proof.Sample[int64](100_000, maxUnpacked)
	text := func(size int64) string { return strings.Repeat("a", int(size)) }
	many := make([][2]string, 501)
	for i := range many {
		many[i] = [2]string{fmt.Sprintf("%d.md", i), "---\n---\n"}
	}
	for name, tt := range map[string]struct {
		body []byte
		want error
	}{
		"a path that leads out":               {archive(t, [2]string{"../a.md", ""}), fault.ErrInvalid},
		"a path that leads out in the middle": {archive(t, [2]string{"a/../../b.md", ""}), fault.ErrInvalid},
		"an absolute path":                    {archive(t, [2]string{"/etc/a.md", ""}), fault.ErrInvalid},
		"a path of Windows":                   {archive(t, [2]string{`C:\a.md`, ""}), fault.ErrInvalid},
		"backslashes that lead out":           {archive(t, [2]string{`..\a.md`, ""}), fault.ErrInvalid},
		"a path with a zero byte":             {archive(t, [2]string{"a\x00.md", ""}), fault.ErrInvalid},
		"an empty path":                       {archive(t, [2]string{"", ""}), fault.ErrInvalid},
		"a link":                              {archive(t, [2]string{"a.md->", "/etc/passwd"}), fault.ErrInvalid},
		"a path that leads out of a file that is left out": {
			archive(t, [2]string{"../readme.txt", ""}), fault.ErrInvalid,
		},
		"bytes that are no text": {archive(t, [2]string{"a.md", "\xff"}), fault.ErrInvalid},
		"a bomb": {
			archive(t, [2]string{"a.md", text(room + 1)}), errArchiveTooLarge,
		},
		"a bomb in many parts": {archive(t, [2]string{"a.md", text(room / 2)},
			[2]string{"b.md", text(room/2 + 1)}), errArchiveTooLarge},
		"too many files": {archive(t, many...), errArchiveTooLarge},
		"no archive":     {[]byte("hello"), errArchive},
		"a cut archive":  {archive(t, [2]string{"a.md", "text"})[:30], errArchive},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if _, err := unpacked(tt.body, room); !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
		})
	}
	t.Run("an archive that lies about the size of a file is refused", func(t *testing.T) {
		body := archive(t, [2]string{"a.md", text(room + 1)})
		directory := bytes.LastIndex(body, []byte("PK\x01\x02"))
		copy(body[directory+24:], []byte{10, 0, 0, 0}) // the uncompressed size in the directory
		if _, err := unpacked(body, room); err == nil {
			t.Error("it was read")
		}
	})
	t.Run("files that are no prompts, and hidden ones, are left out", func(t *testing.T) {
		files, err := unpacked(archive(t, [2]string{"a/", ""}, [2]string{"a/b.md", "text"}, [2]string{".git/c.md", ""},
			[2]string{"a/.d.md", ""}, [2]string{"__MACOSX/a.md", ""}, [2]string{"prompts.lock.json", "{}"}), 4)
		if err != nil || len(files) != 1 || files[0] != (openapi.PromptFile{Path: "a/b.md", Content: "text"}) {
			t.Errorf("files = %v, %v", files, err)
		}
	})
}

func TestLinesAreFiles(t *testing.T) {
	body, err := filesAsJSON(linesType, []byte("{\"path\":\"a.md\"}\n\n {\"path\":\"b.md\"}"))
	if err != nil || string(body) != `{"files":[{"path":"a.md"},{"path":"b.md"}]}` {
		t.Errorf("body = %s, %v", body, err)
	}
}

func TestLangfuse(t *testing.T) {
	for text, want := range map[string]string{
		"@@@langfusePrompt:name=a/b|label=production@@@ end": "{{> a/b@production}} end",
		"x @@@langfusePrompt:name=a|version=3@@@":            "x {{> a@v3}}",
		"{{variable}} @@@other@@@":                           "{{variable}} @@@other@@@",
	} {
		assert.Equal(t, text+": withIncludes", withIncludes(text), want)
	}
	version := map[string]any{}
	langfuseConfig(version, json.RawMessage(`{"model":"gpt-4o","temperature":0.5,"stop":["."],"top_p":null,
		"supported_languages":["en"],"tools":[{"type":"function"}],"response_format":{"type":"json_object"}}`))
	got, err := json.Marshal(version)
	if err != nil || string(got) != `{"model_config":{"extra_params":{"supported_languages":["en"],"top_p":null},`+
		`"model_name":"gpt-4o","stop_sequences":["."],"temperature":0.5},"response_format":{"type":"json_object"},`+
		`"tools":[{"type":"function"}]}` {
		t.Errorf("version = %s, %v", got, err)
	}
	version = map[string]any{}
	langfuseConfig(version, json.RawMessage(`{"tools":["search"],"response_format":"json"}`))
	got, err = json.Marshal(version)
	if err != nil || string(got) != `{"model_config":{"extra_params":{"response_format":"json","tools":["search"]}}}` {
		t.Errorf("version = %s, %v", got, err)
	}
	for _, none := range []string{"", "null", "{}", "7"} {
		version := map[string]any{}
		if langfuseConfig(version, json.RawMessage(none)); len(version) > 0 {
			t.Errorf("%q is %v", none, version)
		}
	}
}

func TestMessagesOfLangfuseKeepTheirMembers(t *testing.T) {
	version := map[string]any{}
	err := langfuseText(version, langfusePrompt{Type: "chat", Prompt: json.RawMessage(`[
		{"type":"chatmessage","role":"system","content":"@@@langfusePrompt:name=tone|label=production@@@"},
		{"role":"user","content":[{"type":"text","text":"@@@langfusePrompt:name=ask|version=2@@@","cache_control":{"type":"x"}},
			{"type":"image_url","image_url":{"url":"{{picture}}"}}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","n":1e2}]},
		{"role":"tool","tool_call_id":"c1","content":"42","name":"sum"},
		{"type":"placeholder","name":"history"}]`)})
	require.NoError(t, err)
	var got, want any
	text, err := json.Marshal(version)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &got))
	require.NoError(t, json.Unmarshal([]byte(`{"messages":[{"role":"system","content":"{{> tone@production}}"},
		{"role":"user","content":[{"type":"text","text":"{{> ask@v2}}","cache_control":{"type":"x"}},
			{"type":"image_url","image_url":{"url":"{{picture}}"}}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","n":1e2}]},
		{"role":"tool","tool_call_id":"c1","content":"42","name":"sum"},
		{"placeholder":"history"}]}`), &want))
	assert.NoDiff(t, "messages", cmp.Diff(want, got))
	for _, invalid := range []string{`"text"`, `{}`, `["text"]`, `null`} {
		if langfuseText(version, langfusePrompt{Type: "chat", Prompt: json.RawMessage(invalid)}) == nil {
			t.Errorf("%s is a chat prompt", invalid)
		}
	}
}
