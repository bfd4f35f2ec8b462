package sheet_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// full repeats a text up to what is unpacked of a part at most.
func full(unit string) string { return strings.Repeat(unit, (60<<20)/len(unit)) }

// bookOf is a workbook of a sheet of rows.
func bookOf(t testing.TB, rows string, extra ...[2]string) []byte {
	return workbook(t, sheetBegin+"<sheetData>"+rows, extra...)
}

// attributes are so many of one element.
func attributes(n int) string { return strings.Repeat(` a=""`, n) }

func TestBombsAreRefusedWithinASecond(t *testing.T) {
	// The bombs of make test are those that an outside test found; make prove has all of them. They take minutes under
	// the race detector, most of it to make the files.
	small := []string{"zeros", "shared texts of a letter", "an attribute", "an OpenDocument, 3 million deep", "a sheet"}
	folder := t.TempDir()
	sheets := confined(t, folder)
	const mimetype = "application/vnd.oasis.opendocument.spreadsheet"
	cells := func(owner string) string {
		return sheetBegin + `<sheetData><row><c t="` + owner +
			`"><v>0</v></c></row><row><c><v>1</v></c></row></sheetData></worksheet>`
	}
	far := `<row><c t="s"><v>9000000</v></c></row></sheetData></worksheet>`
	row, cell := "<table:table-row>", "<table:table-row><table:table-cell>"
	large := map[string]func() []byte{
		"a sheet before its rows": func() []byte {
			return bomb(t, append(workbookParts(), [2]string{"xl/worksheets/sheet1.xml", sheetBegin})...)
		},
		"a sheet within its rows": func() []byte {
			return bomb(t, append(workbookParts(),
				[2]string{"xl/worksheets/sheet1.xml", sheetBegin + "<sheetData>"})...)
		},
		"a value of a sheet": func() []byte {
			return bomb(t, append(workbookParts(),
				[2]string{"xl/worksheets/sheet1.xml", sheetBegin + "<sheetData><row><c><v>1"})...)
		},
		"shared texts": func() []byte {
			return bomb(t, append(workbookParts(), [2]string{"xl/worksheets/sheet1.xml", cells("s")},
				[2]string{"xl/sharedStrings.xml", "<sst>"})...)
		},
		"the directory": func() []byte {
			return bomb(t, append(workbookParts()[:2], [2]string{"xl/workbook.xml", "<workbook>"})...)
		},
		"an OpenDocument's text": func() []byte {
			return bomb(t, [2]string{"mimetype", mimetype},
				[2]string{"content.xml", odsBegin + "<table:table-row><table:table-cell><text:p>"})
		},
		"an OpenDocument's tables": func() []byte {
			return bomb(t, [2]string{"mimetype", mimetype},
				[2]string{"content.xml", odsBegin})
		},

		"shared texts of a letter": func() []byte {
			return bookOf(t, far, [2]string{"xl/sharedStrings.xml", "<sst>" + full("<si><t>a</t></si>")})
		},
		"shared texts of nothing": func() []byte {
			return bookOf(t, far, [2]string{"xl/sharedStrings.xml", "<sst>" + full("<si/>")})
		},
		"zeros":              func() []byte { return bookOf(t, "<row>"+full("<c><v>0</v></c>")) },
		"cells of nothing":   func() []byte { return bookOf(t, "<row>"+full("<c/>")) },
		"the same row again": func() []byte { return bookOf(t, full(`<row r="1"/>`)) },
		"values in parts": func() []byte {
			return bookOf(t, `<row><c t="inlineStr"><is>`+full("<r><t>a</t></r>"))
		},
		"entities": func() []byte {
			return bookOf(t, "<row>"+full("<c><v>"+strings.Repeat("&amp;", 1000)+"</v></c>"))
		},
		"an attribute": func() []byte { return bookOf(t, `<row a="`+full("a")+`"/>`) },
		"attributes of a megabyte": func() []byte {
			return bookOf(t, full(`<row r="1" a="`+strings.Repeat("a", 1<<20)+`"/>`))
		},
		"attributes of one element":   func() []byte { return bookOf(t, "<row"+attributes(12_000_000)+"/>") },
		"attributes of many elements": func() []byte { return bookOf(t, full(`<row r="1"`+attributes(1000)+"/>")) },
		"comments":                    func() []byte { return bookOf(t, full("<!---->")) },
		"processing instructions":     func() []byte { return bookOf(t, full("<?a?>")) },
		"an OpenDocument's styles":    func() []byte { return fixture.ODSOf(t, full("<style/>")) },
		"an OpenDocument's attribute": func() []byte { return fixture.ODSOf(t, `<a a="`+full("a")+`"/>`) },
		"an OpenDocument's spans": func() []byte {
			return fixture.ODSOf(t, odsBegin+cell+"<text:p>"+full("<text:span/>"))
		},
		"an OpenDocument's cells": func() []byte {
			return fixture.ODSOf(t, odsBegin+row+full("<table:table-cell/>"))
		},
		"an OpenDocument's paragraphs": func() []byte { return fixture.ODSOf(t, odsBegin+cell+full("<text:p/>")) },
	}
	deep := map[string]func() []byte{
		"an OpenDocument, 3 million deep": func() []byte { return fixture.ODSOf(t, strings.Repeat("<a>", 3_000_000)) },
		"an OpenDocument, 6 million deep": func() []byte {
			return fixture.ODSOf(t, odsBegin+strings.Repeat("<a>", 6_000_000))
		},
		"an OpenDocument's cell": func() []byte {
			return fixture.ODSOf(t, odsBegin+cell+strings.Repeat("<a>", 3_000_000))
		},
		"an OpenDocument's text": func() []byte {
			return fixture.ODSOf(t, odsBegin+cell+"<text:p>"+strings.Repeat("<text:span>", 3_000_000))
		},
		"a sheet": func() []byte { return bookOf(t, strings.Repeat("<a>", 3_000_000)) },
		"a value": func() []byte { return bookOf(t, "<row><c><v>"+strings.Repeat("<a>", 3_000_000)) },
		"shared texts": func() []byte {
			return bookOf(t, far, [2]string{"xl/sharedStrings.xml", "<sst>" + strings.Repeat("<si>", 3_000_000)})
		},
		"the directory": func() []byte {
			return fixture.Zipped(t, workbookParts()[0], [2]string{"_rels/.rels", strings.Repeat("<a>", 1_000_000)})
		},
		"styles": func() []byte { return styled(t, strings.Repeat("<a>", 2_000_000)) },
		"relationships": func() []byte {
			return fixture.Zipped(t, workbookParts()[0],
				[2]string{"_rels/.rels", "<Relationships>" + strings.Repeat("<Relationship/>", 270_000) +
					"</Relationships>"})
		},
	}
	harmless := map[string]func() []byte{ // shown without them
		"styles": func() []byte {
			return styled(t, "<styleSheet><cellXfs>"+strings.Repeat("<xf/>", 1_500_000)+"</cellXfs></styleSheet>")
		},
	}
	for want, files := range map[error]map[string]func() []byte{source.ErrFileTooLarge: large,
		source.ErrUnsupportedFormat: deep, nil: harmless} {
		for name, content := range files {
			if !proof.Running() && !slices.Contains(small, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				file := content()
				target := put(t, folder, "bomb.bin", file)
				previous, start, usedTime := memory(t), time.Now(), processor(t)
				_, err := sheets.Preview(t.Context(), "", target)
				took := time.Since(start)
				assert.ErrorIs(t, err, want)
				cost := processor(t) - usedTime
				proof.Within(t, name, took, time.Second)
				if cost > sheet.ChildCPU*time.Second { // what bounds it below is in zipfile
					t.Errorf("it used %v of the processor", cost)
				}
				if grown := memory(t) - previous; grown > 64<<20 {
					t.Errorf("this process grew by %d MiB", grown>>20)
				}
				t.Logf("%s, %d bytes: %v, %v of the processor", name, len(file), took, cost)
			})
		}
	}
}

// styled is a workbook of a number that looks as a part says.
func styled(t testing.TB, styles string) []byte {
	parts := workbookParts()
	const relationship = `<Relationship Id="r3" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/>`
	parts[3][1] = strings.Replace(parts[3][1], "</Relationships>", relationship+"</Relationships>", 1)
	return fixture.Zipped(t, append(parts, [2]string{"xl/styles.xml", styles},
		[2]string{"xl/worksheets/sheet1.xml",
			sheetBegin + `<sheetData><row><c s="1"><v>1</v></c></row></sheetData></worksheet>`})...)
}

// processor is the processor time of the children that have ended.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var usedRusage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usedRusage))
	return time.Duration(usedRusage.Utime.Nano() + usedRusage.Stime.Nano())
}
