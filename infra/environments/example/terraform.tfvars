project = "my-project"
region  = "europe-west1"
domain  = "svc.example.com"
bundle  = "../../../dist/functions.zip"
