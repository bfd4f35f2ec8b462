package arrow

import flatbuffers "github.com/google/flatbuffers/go"

// Values of Message.fbs and Schema.fbs. A table's slots are its members in their order there.
const (
	versionV5 = 4

	headerSchema = 1
	headerBatch  = 3

	typeInt           = 2
	typeFloatingPoint = 3
	typeUTF8          = 5
	typeBool          = 6
	typeDate          = 8

	precisionDouble = 2
	unitDay         = 0
	unitMillisecond = 1 // the default
)

// schemaMessage returns a Message with a Schema.
func schemaMessage(fields []Field) []byte {
	b := flatbuffers.NewBuilder(1024)
	offsets := make([]flatbuffers.UOffsetT, len(fields))
	for i, f := range fields {
		offsets[i] = field(b, f)
	}
	list := vector(b, offsets)
	b.StartObject(4)
	b.PrependUOffsetTSlot(1, list, 0)
	return message(b, headerSchema, b.EndObject(), 0, 0)
}

// field writes a Field. Its children are an empty list, since Arrow's C++ library refuses a field without one.
func field(b *flatbuffers.Builder, f Field) flatbuffers.UOffsetT {
	metadata, children, name := keyValues(b, f.Metadata), vector(b, nil), b.CreateString(f.Name)
	kind, details := typeOf(b, f.Type)
	b.StartObject(7)
	b.PrependUOffsetTSlot(0, name, 0)
	b.PrependBoolSlot(1, true, false)
	b.PrependByteSlot(2, kind, 0)
	b.PrependUOffsetTSlot(3, details, 0)
	b.PrependUOffsetTSlot(5, children, 0)
	b.PrependUOffsetTSlot(6, metadata, 0)
	return b.EndObject()
}

// keyValues writes a list of KeyValue.
func keyValues(b *flatbuffers.Builder, metadata []Pair) flatbuffers.UOffsetT {
	pairs := make([]flatbuffers.UOffsetT, len(metadata))
	for i, pair := range metadata {
		key, value := b.CreateString(pair[0]), b.CreateString(pair[1])
		b.StartObject(2)
		b.PrependUOffsetTSlot(0, key, 0)
		b.PrependUOffsetTSlot(1, value, 0)
		pairs[i] = b.EndObject()
	}
	return vector(b, pairs)
}

// typeOf writes a type's table, and returns its number in the union Type.
func typeOf(b *flatbuffers.Builder, t Type) (kind byte, details flatbuffers.UOffsetT) {
	b.StartObject(2)
	switch t {
	case Integer:
		kind = typeInt
		b.PrependInt32Slot(0, 64, 0)
		b.PrependBoolSlot(1, true, false)
	case Number:
		kind = typeFloatingPoint
		b.PrependInt16Slot(0, precisionDouble, 0)
	case Boolean:
		kind = typeBool
	case Date:
		kind = typeDate
		b.PrependInt16Slot(0, unitDay, unitMillisecond)
	case Text:
		kind = typeUTF8
	}
	return kind, b.EndObject()
}

// batchMessage returns a Message with a RecordBatch, whose body is the padded buffers.
func batchMessage(columns []Column, buffers [][]byte, metadata []Pair) []byte {
	b := flatbuffers.NewBuilder(1024)
	var custom flatbuffers.UOffsetT
	if len(metadata) > 0 {
		custom = keyValues(b, metadata)
	}
	b.StartVector(16, len(columns), 8)
	rows := 0
	for i := len(columns) - 1; i >= 0; i-- { // a vector is written from its end
		rows = columns[i].rows
		pair(b, rows, columns[i].nulls)
	}
	nodes := b.EndVector(len(columns))
	length := 0
	for _, buffer := range buffers {
		length += padded(len(buffer))
	}
	b.StartVector(16, len(buffers), 8)
	for i, end := len(buffers)-1, length; i >= 0; i-- {
		end -= padded(len(buffers[i]))
		pair(b, end, len(buffers[i]))
	}
	places := b.EndVector(len(buffers))
	b.StartObject(5)
	b.PrependInt64Slot(0, int64(rows), 0)
	b.PrependUOffsetTSlot(1, nodes, 0)
	b.PrependUOffsetTSlot(2, places, 0)
	return message(b, headerBatch, b.EndObject(), length, custom)
}

// pair writes a struct of two 64-bit integers.
func pair(b *flatbuffers.Builder, first, second int) {
	b.Prep(8, 16)
	b.PrependInt64(int64(second))
	b.PrependInt64(int64(first))
}

func vector(b *flatbuffers.Builder, offsets []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(flatbuffers.SizeUOffsetT, len(offsets), flatbuffers.SizeUOffsetT)
	for i := len(offsets) - 1; i >= 0; i-- {
		b.PrependUOffsetT(offsets[i])
	}
	return b.EndVector(len(offsets))
}

// message finishes a Message. bodyLength is in bytes. metadata is the place of its own metadata; 0 for none.
func message(b *flatbuffers.Builder, kind byte, header flatbuffers.UOffsetT, bodyLength int,
	metadata flatbuffers.UOffsetT,
) []byte {
	b.StartObject(5)
	b.PrependInt16Slot(0, versionV5, 0)
	b.PrependByteSlot(1, kind, 0)
	b.PrependUOffsetTSlot(2, header, 0)
	b.PrependInt64Slot(3, int64(bodyLength), 0)
	b.PrependUOffsetTSlot(4, metadata, 0)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}
