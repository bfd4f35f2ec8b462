package clients

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestPromptsAreExportedInEachFormat compares the formats of an export.
func TestPromptsAreExportedInEachFormat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	inEach(t, func(t *testing.T, d driver) {
		s := w.connect(t, d)
		s.must(t, command{Name: "promptTemplates.importFiles", HasBody: true, Body: object{"files": []object{
			{"path": "export/first.md", "content": "---\n---\nHello {{customer}} <&> ü!\n"},
			{"path": "export/second.md", "content": "---\n---\nBye.\n"},
		}}})
		export := func(suffix string, o callOptions) command {
			return command{Name: "promptTemplates.exportFiles" + suffix, HasQuery: true,
				Query: object{"folder": "export"}, Options: o}
		}
		files := s.must(t, export("", callOptions{})).Value.(object)["files"]
		require.Equal(t, "files", len(files.([]any)), 2)
		t.Run("as a stream", func(t *testing.T) {
			if d := cmp.Diff(files, s.must(t, export("Stream", callOptions{All: true})).Value); d != "" {
				t.Error(d)
			}
			assert.Equal(t, "it accepts", last(s.requests()).headers.Get("Accept"), "application/x-ndjson")
		})
		t.Run("as a zip archive, after a server that was not available", func(t *testing.T) {
			s.breaks(script{status: 503})
			r := s.must(t, export("Zip", callOptions{}))
			assert.Equal(t, "the attempts were", r.statuses(), "503+ 200")
			if d := cmp.Diff(files, unpacked(t, r.Value.(string))); d != "" {
				t.Error(d)
			}
		})
		t.Run("a part of an archive is an error", func(t *testing.T) {
			s.breaks(script{fault: cut}, script{fault: cut}, script{fault: cut})
			if r := s.call(t, export("Zip", callOptions{})); r.Error == nil || r.Error.Kind != "connection" {
				t.Errorf("%+v", r)
			}
		})
		t.Run("a page of another program is an error", func(t *testing.T) {
			s.breaks(script{fault: page})
			if r := s.call(t, export("Zip", callOptions{})); r.Error == nil || r.Error.Code != "unexpected_response" {
				t.Errorf("%+v", r)
			}
		})
	})
}

// unpacked returns the files of an archive as an export as JSON does.
func unpacked(t *testing.T, text string) (files []any) {
	t.Helper()
	archive, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	for _, f := range r.File {
		in, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(in)
		require.NoError(t, err)
		files = append(files, object{"path": f.Name, "content": string(content)})
	}
	return files
}
