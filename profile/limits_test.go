package profile

import "testing"

func TestBytes(t *testing.T) {
	for text, want := range map[string]uint64{
		"1": 1, "1024": 1024, "1K": 1024, "1k": 1024, "1KB": 1024, "1KiB": 1024, "1.5G": 3 << 29, "2GiB": 2 << 30, "512M": 512 << 20, "1T": 1 << 40,
		"0.5K": 512, ".5K": 512, "9223372036854775807": 1<<63 - 1, "8388607T": 8388607 << 40,
		"": 0, "0": 0, "0.1": 0, "-1": 0, "1e3": 0, "1X": 0, "K": 0, "1.2.3": 0, "1 K": 0, "9223372036854775808": 0, "8388608T": 0, "1KK": 0, "0x10": 0, "∞": 0, ".": 0,
	} {
		if got, ok := Bytes(text); got != want || ok != (want > 0) {
			t.Errorf("%q: %d %t, not %d", text, got, ok, want)
		}
	}
}

func TestProcessors(t *testing.T) {
	for text, want := range map[string]uint64{
		"1": 1000, "1.5": 1500, "150%": 1500, "0.5": 500, "1%": 10, "0.01": 10, "33.3%": 333, "10000": 10_000_000,
		"": 0, "%": 0, "0": 0, "0.001": 0, "0.1%": 0, "-1": 0, "fast": 0, "10001": 0, "1e2": 0, "99999999999999999999": 0, "18446744073709551615%": 0,
	} {
		if got, ok := Processors(text); ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %d %t, not %d", text, got, ok, want)
		}
	}
}
