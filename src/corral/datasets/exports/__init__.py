"""Dataset exports: folders, zip, WebDataset, Parquet, the imagefolder layout."""
