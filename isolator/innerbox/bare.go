//go:build programs && !carries

package innerbox

const boxZip, gitZip = "", ""
