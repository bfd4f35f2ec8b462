package payments

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// invoicePDF returns a sandbox invoice as a PDF with one page, and with as many lines as it has room for.
func invoicePDF(i *payment.Invoice) []byte {
	const room = 30
	rows := []string{"Invoice " + i.Number, i.CreatedAt.Format(time.DateOnly), "To: " + i.BilledTo.Name, ""}
	for n, l := range i.Lines {
		if n == room {
			rows = append(rows, fmt.Sprintf("and %d more", len(i.Lines)-room))
			break
		}
		rows = append(rows, l.Description+": "+formatMoney(i.Money(l.Amount)))
	}
	rows = append(rows, "", "Total: "+formatMoney(i.Money(i.Total)), "Due: "+formatMoney(i.Money(i.AmountDue)),
		"Status: "+string(i.Status), "", "Sandbox: no money moves.")
	return pdfOf(rows)
}

// pdfOf returns a PDF whose page has rows, by ISO 32000-1: five objects, and a table with their positions.
func pdfOf(rows []string) []byte {
	var text bytes.Buffer
	text.WriteString("BT /F1 11 Tf 16 TL 60 780 Td\n")
	for _, row := range rows {
		fmt.Fprintf(&text, "(%s) Tj T*\n", pdfText(row))
	}
	text.WriteString("ET")
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R " +
			"/Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	positions := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for n, object := range objects {
		positions += fmt.Sprintf("%010d 00000 n \n", out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", n+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", positions, len(objects)+1,
		start)
	return out.Bytes()
}

// pdfText escapes text for a PDF string. The font has the characters of Latin-1; others become question marks.
func pdfText(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '(', r == ')', r == '\\':
			out.WriteByte('\\')
			out.WriteByte(byte(r))
		case r < ' ', r > 0xff, r >= 0x7f && r < 0xa0:
			out.WriteByte('?')
		default:
			out.WriteByte(byte(r))
		}
	}
	return out.String()
}

// formatMoney returns an amount as people read it, such as 29.00 USD.
func formatMoney(m payment.Money) string {
	scale := m.Exponent()
	digits := fmt.Sprintf("%0*d", scale+1, m.Amount)
	integer, part := digits[:len(digits)-scale], digits[len(digits)-scale:]
	if scale > 0 {
		integer += "." + part
	}
	return integer + " " + strings.ToUpper(m.Currency)
}
