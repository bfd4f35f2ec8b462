package zipfile_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// endless reads its begin once and then its unit for ever.
type endless struct {
	rest string
	unit string
	read int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.rest == "" {
		e.rest = strings.Repeat(e.unit, 1+4096/len(e.unit))
	}
	n := copy(b, e.rest)
	e.rest, e.read = e.rest[n:], e.read+n
	return n, nil
}

func TestReadingEndsByWorkAndDepth(t *testing.T) {
	for name, tt := range map[string]struct {
		begin, unit string
		most        int // bytes until the end
		want        error
	}{
		"elements":           {"<a>", "<b/>", 12 << 20, source.ErrFileTooLarge},
		"texts":              {"<a>", "<b>c</b>", 16 << 20, source.ErrFileTooLarge},
		"long texts":         {"<a>", "<b>" + strings.Repeat("c", 10_000) + "</b>", 32 << 20, source.ErrFileTooLarge},
		"attributes":         {"<a>", `<b c="" d="" e=""/>`, 12 << 20, source.ErrFileTooLarge},
		"long attributes":    {"<a>", `<b c="` + strings.Repeat("c", 10_000) + `"/>`, 32 << 20, source.ErrFileTooLarge},
		"comments":           {"<a>", "<!---->", 24 << 20, source.ErrFileTooLarge},
		"instructions":       {"<a>", "<?a?>", 24 << 20, source.ErrFileTooLarge},
		"elements in others": {"", "<a>", 64 << 10, source.ErrUnsupportedFormat},
	} {
		if !proof.Running() && !slices.Contains([]string{"texts", "long attributes", "elements in others"}, name) {
			continue // each reads megabytes, which takes 20 s under the race detector
		}
		t.Run(name, func(t *testing.T) {
			archive := fixture.Zipped(t, [2]string{"a", "a"})
			pack, err := zipfile.Open(bytes.NewReader(archive), int64(len(archive)))
			require.NoError(t, err)
			in := &endless{rest: tt.begin, unit: tt.unit}
			d := pack.Decoder(in)
			for err == nil {
				_, err = d.Token()
			}
			if !errors.Is(err, tt.want) || in.read > tt.most {
				t.Errorf("%v after %d bytes, want %v", err, in.read, tt.want)
			}
			if _, second := pack.Decoder(strings.NewReader("<a/>")).Token(); errors.Is(err, source.ErrFileTooLarge) &&
				!errors.Is(second, err) {
				t.Errorf("another part of the same document: %v", second)
			}
		})
	}
}

func TestAPartEndsWhereNoElementComes(t *testing.T) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	w, err := archive.Create("a")
	require.NoError(t, err)
	for _, text := range []string{"<a>", strings.Repeat(" ", 3<<20), "<b>", strings.Repeat(" ", 3<<20), "</b>",
		strings.Repeat(" ", 8<<20)} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, archive.Close())
	pack, err := zipfile.Open(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	part, err := pack.Part("a", 64<<20)
	require.NoError(t, err)
	defer part.Close()
	if n, err := io.Copy(io.Discard, part); !errors.Is(err, source.ErrFileTooLarge) || n < 6<<20 || n > 11<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
