package payments

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestAnInvoiceIsAPDFThatReadersCanOpen follows the positions that the document names, as readers do.
func TestAnInvoiceIsAPDFThatReadersCanOpen(t *testing.T) {
	i := &payment.Invoice{
		Number: "SANDBOX-7", Status: payment.Open, Currency: "usd", Total: 1234, AmountDue: 1234,
		CreatedAt: time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC), BilledTo: &payment.Details{Name: `Zoë (\) ☃`},
	}
	for n := range 40 {
		i.Lines = append(i.Lines, payment.InvoiceLine{Description: fmt.Sprint("Line ", n), Amount: 100})
	}
	text := string(invoicePDF(i))
	require.That(t, strings.HasPrefix(text, "%PDF-1.4\n") && strings.HasSuffix(text, "%%EOF\n"), "%q", text)
	start := regexp.MustCompile(`startxref\n(\d+)\n`).FindStringSubmatch(text)
	position, err := strconv.Atoi(start[1])
	require.NoError(t, err)
	table := text[position:]
	require.That(t, strings.HasPrefix(table, "xref\n0 6\n"), "%q", table)
	for n, entry := range regexp.MustCompile(`(?m)^(\d{10}) 00000 n $`).FindAllStringSubmatch(table, -1) {
		position, err := strconv.Atoi(entry[1])
		require.NoError(t, err)
		assert.That(t, strings.HasPrefix(text[position:], fmt.Sprintf("%d 0 obj\n", n+1)), "object %d", n+1)
	}
	length := regexp.MustCompile(`/Length (\d+) >>\nstream\n`).FindStringSubmatchIndex(text)
	size, err := strconv.Atoi(text[length[2]:length[3]])
	require.NoError(t, err)
	assert.That(t, strings.HasPrefix(text[length[1]+size:], "\nendstream"), "the stream has another length")
	for _, want := range []string{
		"(Invoice SANDBOX-7)", "(2026-03-14)", "To: Zo\xeb \\(\\\\\\) ?", "(Line 29: 1.00 USD)", "(and 10 more)",
		"(Total: 12.34 USD)", "(Status: open)",
	} {
		assert.That(t, strings.Contains(text, want), "no %q in %q", want, text)
	}
	assert.That(t, !strings.Contains(text, "Line 30"), "too many lines")
}
