module vertical-operator.test/tools/pause

go 1.24
