project = "my-project"
region  = "europe-west1"
domain  = "svc.example.com"
bundle  = "../../../dist/functions.zip"

# The database is in the region. Several regions survive the loss of one and cost more: eur3 in Europe, nam5 in North America.
# firestore_location = "eur3"
