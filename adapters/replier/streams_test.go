package replier_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/replier"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/test/support/require"
)

// outcome is what a visitor gets of an answer.
type outcome struct {
	Reasoning string `json:"reasoning"`
	Text      string `json:"text"`
	Refusal   string `json:"refusal"`
	Failure   string `json:"failure"`
}

// TestStreamsOfModelServersAreRelayedWhole plays what model servers send, written from their documentation. Each file
// has its source, the outcome and then the stream.
func TestStreamsOfModelServersAreRelayedWhole(t *testing.T) {
	files, err := filepath.Glob("testdata/streams/*.txt")
	require.NoError(t, err)
	if len(files) < 40 {
		t.Fatalf("there are only %d streams", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			parts := bytes.SplitN(text, []byte("\n"), 3)
			var want outcome
			require.NoError(t, json.Unmarshal(bytes.TrimPrefix(parts[1], []byte("# ")), &want))
			for _, size := range []int{1 << 20, 7} { // at 7 bytes, borders are inside characters and lines
				if got := play(t, parts[2], size); got != want {
					t.Errorf("in pieces of %d bytes: %+v, want %+v", size, got, want)
				}
			}
		})
	}
}

// play returns the outcome of a stream that arrives in pieces of a size in bytes.
func play(t *testing.T, stream []byte, size int) (got outcome) {
	_, target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := stream; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, _ = w.Write(rest[:min(size, len(rest))])
			_ = http.NewResponseController(w).Flush()
		}
	})
	err := replier.NewCompatible(guard, limits).Reply(t.Context(), target, request, func(p embed.Piece) error {
		switch p.Part {
		case embed.PartReasoning:
			got.Reasoning += p.Text
		case embed.PartRefusal:
			got.Refusal += p.Text
		default:
			got.Text += p.Text
		}
		return nil
	})
	failure, _ := errors.AsType[embed.ReplyFailure](err)
	got.Failure = string(failure)
	return got
}
