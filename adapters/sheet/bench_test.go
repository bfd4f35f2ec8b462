package sheet_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/test/support/require"
)

// large writes a workbook of about size bytes, of one tab.
func large(b testing.TB, size int) []byte {
	b.Helper()
	f := excelize.NewFile()
	defer f.Close()
	w, err := f.NewStreamWriter("Sheet1")
	require.NoError(b, err)
	random := rand.New(rand.NewPCG(1, 2))
	const bytesPerRow = 145 // packed
	for row := 1; row <= min(size/bytesPerRow, 1<<20); row++ {
		values := make([]any, 10)
		for i := range values {
			if values[i] = fmt.Sprintf("%x", random.Uint64()); row == 1 {
				values[i] = fmt.Sprint("Column no. ", i)
			}
		}
		require.NoError(b, w.SetRow(fmt.Sprintf("A%d", row), values))
	}
	require.NoError(b, w.Flush())
	var out bytes.Buffer
	require.NoError(b, f.Write(&out))
	return out.Bytes()
}

// BenchmarkPreviewOf50MB reads the head of a workbook of 50 MB in a child process, and compares with
// the time in which the library itself opens the same workbook.
func BenchmarkPreviewOf50MB(b *testing.B) {
	folder := b.TempDir()
	content := large(b, 50<<20)
	target := put(b, folder, "large.xlsx", content)
	h := newHost(b)
	fetchedTarget := h.put("/large.xlsx", content)
	b.Logf("%d MB", len(content)>>20)

	start := time.Now()
	f, err := excelize.OpenFile(folder+"/large.xlsx", excelize.Options{TmpDir: folder})
	require.NoError(b, err)
	_ = f.Close()
	solo := time.Since(start)

	sheets := confined(b, folder)
	previous := memory(b)
	b.Run("file", func(b *testing.B) {
		for b.Loop() {
			if s, err := sheets.Preview(b.Context(), "", target); err != nil || len(s.Preview.Headers) != 10 {
				b.Fatal(s, err)
			}
		}
		took := b.Elapsed() / time.Duration(b.N)
		b.ReportMetric(took.Seconds()/solo.Seconds(), "of-the-library")
		b.ReportMetric(float64(memory(b)-previous)/(1<<20), "MiB-more")
	})
	b.Run("https", func(b *testing.B) {
		sheets := confined(b, folder, h.pem())
		for b.Loop() {
			if s, err := sheets.Preview(b.Context(), "", fetchedTarget); err != nil || len(s.Preview.Headers) != 10 {
				b.Fatal(s, err)
			}
		}
	})
}
