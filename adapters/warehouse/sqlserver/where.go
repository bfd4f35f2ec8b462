package sqlserver

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// arguments are a statement's arguments, which it names @p1, @p2 and so on.
type arguments []any

func (a *arguments) bind(value any) string {
	*a = append(*a, value)
	return `@p` + strconv.Itoa(len(*a))
}

// maxArguments is the most arguments in one statement: the server takes 2,100 parameters, of which the driver uses two
// ("Maximum capacity specifications for SQL Server").
const maxArguments = 2098

// where returns a query's conditions: none if they have too many values.
func where(
	q connection.RowsQuery, columns []connection.Column, out *warehouse.Batches, args *arguments,
	find func(name string) column,
) []string {
	count := len(*args)
	conditions := warehouse.Where(q, columns, out, func(c connection.Column) (warehouse.Comparison, bool) {
		return find(c.Name).comparison(args)
	})
	if len(*args) <= maxArguments {
		return conditions
	}
	*args = (*args)[:count]
	out.Apply(false)
	return nil
}

// Limits of types ("datetime" and "smalldatetime" of the reference of Transact-SQL). A later datetime is rounded up.
var (
	firstDatetime = time.Date(1753, 1, 1, 0, 0, 0, 0, time.UTC)
	lastDatetime  = time.Date(9999, 12, 31, 23, 59, 59, 997_999_999, time.UTC)
	firstSmall    = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	lastSmall     = time.Date(2079, 6, 6, 23, 59, 59, 999_999_999, time.UTC)
)

// comparison returns how the column is compared with arguments. Moments and decimals are cut to the digits of the
// column, since CONVERT would round them. The statement would fail with a value that is beyond the range of the type.
func (c column) comparison(args *arguments) (warehouse.Comparison, bool) {
	_, ok := c.value("")
	compared := warehouse.Comparison{Name: quote(c.Name), Text: warehouse.AnyText, IsRounded: true,
		Value: func(text string) string {
			expression, _ := c.value(args.bind(c.argument(text)))
			return expression
		}}
	switch c.base {
	case "bit":
	case "tinyint":
		compared.Text = func(number string) (string, bool) {
			text, _ := warehouse.Integers(16)(number)
			_, err := strconv.ParseUint(text, 10, 8)
			return text, err == nil
		}
	case "smallint", "int", "bigint":
		compared.Text = warehouse.Integers(8 * c.size)
	case "decimal", "numeric":
		compared.Text = warehouse.Decimals(c.width[0], c.width[1])
	case "money":
		compared.Text = money(64)
	case "smallmoney":
		compared.Text = money(32)
	case "float":
		compared.Text = floats(64, 0x1p-1022)
	case "real":
		compared.Text = floats(32, 0x1p-126)
	case "date":
		compared.Text = func(text string) (string, bool) {
			day, err := time.Parse(time.DateOnly, text)
			return text, err == nil && day.Year() > 0
		}
	case "smalldatetime":
		compared.Text = momentsBetween("2006-01-02 15:04:00", firstSmall, lastSmall)
	case "datetime":
		compared.Text = momentsBetween("2006-01-02 15:04:05.000", firstDatetime, lastDatetime)
	case "datetime2":
		compared.Text = warehouse.Moments("2006-01-02 15:04:05" + fraction(c.width[1]))
	case "datetimeoffset":
		compared.Text = warehouse.Moments("2006-01-02 15:04:05" + fraction(c.width[1]) + " -07:00")
	case "uniqueidentifier":
		const length = 36
		compared.Text = func(text string) (string, bool) {
			return text, len(text) == length && uuid.Validate(text) == nil
		}
		compared.Prefix = noPrefix
	case "char", "varchar", "nchar", "nvarchar":
		return c.textComparison(compared, args), ok && !c.hasTwins()
	default:
		return compared, false
	}
	return compared, ok
}

func noPrefix(string) string { return "" }

// textComparison compares texts in the collation of the column, in which more texts are equal: letters in another case,
// and those with spaces at the end. An index of the column can be used for it. Texts in others are looked for by their
// code units. CHARINDEX looks for at most 8,000 bytes, whose rest is cut. Ranges are left to Atrium: where a text is
// shorter than the other one, the server adds spaces, so that a tab at its end is before its beginning.
func (c column) textComparison(compared warehouse.Comparison, args *arguments) warehouse.Comparison {
	index := func(text string) string {
		return `CHARINDEX(CONVERT(nvarchar(4000), ` + args.bind(text) + `), CONVERT(nvarchar(max), ` + compared.Name +
			`) COLLATE Latin1_General_BIN2)`
	}
	compared.Contains = func(text string) string { return index(text) + ` > 0` }
	compared.Prefix = func(prefix string) string { return index(prefix) + ` = 1` }
	return compared
}

// hasTwins reports whether texts are compared by their bytes in a code page that may have two codes for a character, as
// East Asian pages have: CONVERT returns one of them.
func (c column) hasTwins() bool {
	return c.base[0] != 'n' && strings.Contains(c.collation, "_BIN") && !strings.HasPrefix(c.collation, "Latin1_")
}

// argument returns a text as an argument. Floating-point numbers are no texts, so that the server reads none.
func (c column) argument(text string) any {
	bits := slices.Index([]string{"real", "float"}, c.base)*32 + 32
	if v, err := strconv.ParseFloat(text, bits); bits > 0 && err == nil {
		return v
	}
	return text
}

// floats returns warehouse.Comparison.Text of floating-point numbers that are at least as large as the smallest normal
// one: the server refuses smaller ones ("float and real" of the reference of Transact-SQL).
func floats(bits int, smallest float64) func(text string) (string, bool) {
	return func(number string) (string, bool) {
		text, ok := warehouse.Floats(bits)(number)
		v, _ := strconv.ParseFloat(text, bits)
		return text, ok && (v == 0 || math.Abs(v) >= smallest)
	}
}

// money returns warehouse.Comparison.Text of money, which is an integer with some bits and four decimals.
func money(bits int) func(text string) (string, bool) {
	return func(number string) (string, bool) {
		text, ok := warehouse.Decimals(19, 4)(number)
		integer, decimals, _ := strings.Cut(text, ".")
		_, err := strconv.ParseInt(integer+(decimals + "0000")[:4], 10, bits)
		return text, ok && err == nil
	}
}

// momentsBetween returns warehouse.Comparison.Text of moments between two, which a layout writes.
func momentsBetween(layout string, first, last time.Time) func(text string) (string, bool) {
	return func(text string) (string, bool) {
		text, ok := warehouse.Moments("2006-01-02 15:04:05.999999999")(text)
		moment, _ := time.Parse("2006-01-02 15:04:05.999999999", text)
		return moment.Format(layout), ok && !moment.Before(first) && !moment.After(last)
	}
}

func fraction(digits int) string {
	return strings.TrimSuffix("."+strings.Repeat("0", digits), ".")
}

// order returns how rows are ordered by a column's values: false if that is not known to be the order of the field's
// values. It is not for texts (see textComparison).
func (c column) order(args *arguments) (warehouse.Order, bool) {
	compared, ok := c.comparison(args)
	return warehouse.Order{Key: compared.Name, Nullable: c.Nullable, NullsFirst: true, Value: compared.Value},
		ok && c.Type != connection.Text
}
